"""Forecasts: what a pair would do here, before it is downloaded, and how true that was."""
