"""The curator over HTTP: ``app.create_app(home)``.  Handlers are thin; sessions and the ledger do the work."""
