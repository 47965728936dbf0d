"""What an answer will probably cost in accuracy, from public facts alone, before anything is read or charged."""
