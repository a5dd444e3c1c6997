"""`python -m relevo`: the command line."""

from relevo.cli.main import main

if __name__ == "__main__":
    main()
