"""`python -m relevo.cli`: the same as `relevo`, where no script is installed."""

from relevo.cli.main import main

if __name__ == "__main__":
    main()
