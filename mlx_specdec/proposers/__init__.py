"""Drafting methods behind the Proposer protocol (see mlx_specdec.proposal)."""
