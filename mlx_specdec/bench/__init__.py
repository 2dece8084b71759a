"""The benchmark: workloads, arms, the order of runs, and what came of it in words and pictures."""
