"""What kind of request an entry is."""

# Files that come with a page and are not counted as one.
ASSETS = [
    "avif", "bmp", "css", "cur", "eot", "gif", "htc", "ico", "jpeg", "jpg", "js", "json", "map",
    "mjs", "mp3", "mp4", "ogg", "otf", "pdf", "png", "svg", "swf", "tif", "tiff", "ttf", "txt",
    "wasm", "wav", "webm", "webmanifest", "webp", "woff", "woff2", "xml", "zip",
]

ROBOTS = ["bingbot", "curl/", "facebookexternalhit", "googlebot", "python-requests", "yandexbot"]


def suffix(path):
    name = path.split("/")[-1]
    if "." not in name:
        return ""
    return name.split(".")[-1].lower()


def is_asset(entry):
    return suffix(entry.path) in ASSETS


def is_robot(entry):
    return any([robot in entry.agent.lower() for robot in ROBOTS])
