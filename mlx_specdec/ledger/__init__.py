"""The ledger of seconds: arithmetic, accounts, and both in words."""
