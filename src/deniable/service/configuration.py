"""The settings of a collector, which `deniable serve` takes from the command line."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Options:
    """The settings of `deniable serve`.

    Parameters
    ----------
    store : str
        A directory, or the address of a database.
    host : str
        The network address to listen on.
    port : int
        The TCP port.
    admin_token_file : str, optional
        A file with the administrator's secret; by default one in the store's directory.
    origins : str, optional
        Origins of pages that may call the collector (CORS): "*" for all, None for its own alone.
    body_limit : int
        Bytes of a request body.
    connections : int
        Connections at a time.
    patience : float
        Seconds in which a request must arrive.
    decode_seconds : float
        Seconds of one decode.
    decode_memory : int
        Bytes of memory of the decoding process.
    open_batch : int
        Reports of one upload without a token.
    open_rate : int, optional
        Reports a second without a token, where a survey has no rate of its own; None for no limit.
    public_url : str, optional
        The address at which people reach the collector.
    migrate : bool
        Whether a store of an older layout is upgraded.

    Examples
    --------
    >>> Options("store", port=0).host
    '127.0.0.1'
    """

    store: str
    host: str = "127.0.0.1"
    port: int = 8765
    admin_token_file: str | None = None
    origins: str | None = "*"
    body_limit: int = 1 << 20
    connections: int = 4096
    patience: float = 10.0
    decode_seconds: float = 60.0
    decode_memory: int = 1 << 32
    open_batch: int = 500
    open_rate: int | None = 1000
    public_url: str | None = None
    migrate: bool = True
