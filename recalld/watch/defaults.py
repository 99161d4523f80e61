"""What is never indexed unless someone says so. All names are compared without regard to case.

Two strengths: ``OUTPUTS`` is what tools make, and any ignore file may bring it back with ``!``. ``PRIVATE`` is secrets,
binaries and editors' scratch files: only the repo's own settings bring those back, since a ``.gitignore`` that
un-ignores ``.env.example`` speaks of git, not of memory.
"""

from __future__ import annotations


def _words(text: str) -> tuple[str, ...]:
    return tuple(text.split())


ALWAYS = frozenset({".git", ".hg", ".svn", ".jj"})
"""Directories of version control: not to be brought back."""

OUTPUT_DIRECTORIES = frozenset(
    _words("""
    node_modules bower_components .venv venv .tox .nox .eggs __pycache__ .mypy_cache .ruff_cache .pytest_cache
    .hypothesis .ipynb_checkpoints site-packages build dist target out .next .nuxt .svelte-kit .parcel-cache .turbo
    .gradle .terraform .cache htmlcov .nyc_output .idea .vscode .obsidian .trash .stversions .stfolder
    .dropbox.cache lost+found
    """)
)
OUTPUT_FILES = frozenset(
    _words("""
    .gitignore .recallignore .gitattributes .gitmodules .ds_store thumbs.db desktop.ini package-lock.json
    npm-shrinkwrap.json pnpm-lock.yaml go.sum .coverage
    """)
)
OUTPUT_SUFFIXES = (".lock", ".min.js", ".min.css", ".map", ".egg-info", ".pyc", ".pyo")

ARCHIVES = ("lessons", "archive")
"""A folder of the second name below one of the first holds what was put away: kept by git, not remembered."""

PRIVATE_DIRECTORIES = frozenset({".ssh", ".gnupg", ".aws", ".kube"})
PRIVATE_FILES = frozenset(
    _words("""
    id_rsa id_dsa id_ecdsa id_ed25519 .netrc .pgpass .npmrc .pypirc .htpasswd .git-credentials .envrc
    credentials.json tokens.json token.json service-account.json kubeconfig
    """)
)
PRIVATE_PREFIXES = (".env.", "id_rsa.", "id_ed25519.", "id_ecdsa.")
PRIVATE_SUFFIXES = _words("""
    .env .pem .key .p12 .pfx .jks .keystore .kdbx .ppk .asc .gpg .age .creds
    """)

SCRATCH_FILES = frozenset({"4913"})
SCRATCH_PREFIXES = (".#", ".goutputstream-", ".~lock.", "~$", ".fuse_hidden", ".nfs0", ".syncthing.", "~syncthing~")
SCRATCH_SUFFIXES = _words("""
    ~ .swp .swo .swx .swn .tmp .temp .bak .orig .rej .part .partial .crdownload .kate-swp ___jb_tmp___ ___jb_old___
    """)

BINARY_SUFFIXES = _words("""
    .png .jpg .jpeg .gif .bmp .tif .tiff .webp .ico .icns .psd .heic .avif .svgz .mp3 .mp4 .m4a .m4v .wav .flac .ogg
    .opus .avi .mov .mkv .webm .zip .gz .tgz .bz2 .xz .zst .7z .rar .tar .jar .war .whl .egg .deb .rpm .dmg .iso .img
    .so .o .a .dylib .dll .exe .bin .class .wasm .pdf .doc .docx .xls .xlsx .ppt .pptx .odt .ods .odp .ttf .otf .woff
    .woff2 .eot .db .sqlite .sqlite3 .sqlite-wal .sqlite-shm .db-wal .db-shm .db-journal .parquet .arrow .feather .npy
    .npz .h5 .pt .pth .onnx .safetensors .gguf .pkl .pickle .mo .pack .idx .pcap .dump
    """)

PRIVATE_NAMES = PRIVATE_FILES | SCRATCH_FILES
PRIVATE_STARTS = PRIVATE_PREFIXES + SCRATCH_PREFIXES
PRIVATE_ENDS = PRIVATE_SUFFIXES + SCRATCH_SUFFIXES + BINARY_SUFFIXES
