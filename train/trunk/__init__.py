"""Training of the trunk's adapter: low-rank matrices next to frozen ones, on holes drawn from real files."""
