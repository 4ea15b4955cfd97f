"""Open documents as immutable snapshots, with their syntax trees."""
