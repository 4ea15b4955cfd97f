"""From a request to proposals: by the default model (`trunk`), by a published one (`canvas`), or without a model."""
