"""What several releases cost together: composition of fixed batches, and filters for adaptive spending."""
