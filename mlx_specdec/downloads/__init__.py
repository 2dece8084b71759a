"""Downloads: what a plan lacks, fetched in a child process, asked about beforehand."""
