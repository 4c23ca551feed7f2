"""The worker: settings, stores, herder and supervisor, put together by ``workers.__main__``."""
