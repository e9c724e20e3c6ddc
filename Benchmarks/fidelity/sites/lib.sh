# Sourced by the start scripts: start PORT WORK.
set -eu
port=$1 work=$2
here=$(cd "$(dirname "$0")" && pwd)
home=${FIDELITY_HOME:-${TMPDIR:-/tmp}/larder-fidelity}
public=${FIDELITY_PUBLIC_PORT:-$port}
mkdir -p "$work" "$home/envs"

# with PACKAGE...: makes a virtual environment for the site with these Python packages, and sets $bin.
with() {
    bin=$home/envs/$(basename "$here")/bin
    if [ ! -e "$bin/../ready" ]; then
        rm -rf "$bin/.."
        python3 -m venv "$bin/.."
        if command -v uv >/dev/null; then
            uv pip install -q --python "$bin/python" "$@"
        else
            "$bin/pip" install -q "$@"
        fi
        touch "$bin/../ready"
    fi
}

# debian PACKAGE...: installs missing Debian packages.
debian() {
    for p; do
        dpkg -s "$p" >/dev/null 2>&1 ||
            DEBIAN_FRONTEND=noninteractive apt-get install -qy --no-install-recommends "$p"
    done
}
