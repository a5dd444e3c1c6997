"""A support desk that refunds real money: the reference application of Relevo. See README.md."""
