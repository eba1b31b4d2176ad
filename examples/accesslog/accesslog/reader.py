"""The lines of a log, read block by block."""


def lines(path, block_size):
    with open(path, "rb", buffering=0) as file:
        pending = b""
        while True:
            block = file.read(block_size)
            if not block:
                break
            pending += block
            parts = pending.split(b"\n")
            pending = parts.pop()
            for part in parts:
                yield part.decode("utf-8", "replace")
        if pending:
            yield pending.decode("utf-8", "replace")
