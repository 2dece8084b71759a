#!/bin/sh
# Make the virtual environment and install the project into it.
#   sh scripts/setup_env.sh VENV run|dev
# "run" installs what `make demo` needs, "dev" adds the test and lint tools.
# POSIX sh and BSD tools only.
set -eu

venv=$1
level=$2

fail() {
    printf '%s\n' "mlx-specdec set-up: $1" >&2
    shift
    for line in "$@"; do printf '  %s\n' "$line" >&2; done
    exit 1
}

system=$(uname -s)
machine=$(uname -m)
extra=
case $system in
Darwin)
    # A Python under Rosetta also says x86_64, so the hardware is asked too.
    if [ "$machine" = x86_64 ]; then
        if [ "$(sysctl -n sysctl.proc_translated 2>/dev/null || echo 0)" = 1 ]; then
            fail 'this terminal runs under Rosetta; MLX needs native Apple silicon programs.' \
                'Untick "Open using Rosetta" for the terminal (Finder, Get Info), then open it again.'
        fi
        fail 'this Mac has an Intel processor; MLX needs Apple silicon (M1 or later).' \
            'On Linux the same project runs on the CPU.'
    fi
    version=$(sw_vers -productVersion)
    major=${version%%.*}
    if [ "$major" -lt 14 ]; then
        fail "this is macOS $version; MLX needs macOS 14 (Sonoma) or later." \
            'System Settings > General > Software Update.'
    fi
    ;;
Linux)
    extra=cpu
    if [ "${MLX_SPECDEC_CUDA:-0}" = 1 ]; then
        if nvidia-smi >/dev/null 2>&1; then
            extra=cuda
        else
            echo 'MLX_SPECDEC_CUDA=1 but nvidia-smi does not run here: setting up for the CPU.'
        fi
    fi
    ;;
*)
    fail "MLX runs on macOS and Linux, not on $system." 'On Windows: use WSL 2 with a Linux in it.'
    ;;
esac

# A name on PATH may be a version manager's stand-in that only fails, so each
# candidate is run. MLX has wheels for 3.11 to 3.14.
usable='import sys, venv, ensurepip; sys.exit(not (3, 11) <= sys.version_info[:2] <= (3, 14))'
has_version='import sys; sys.exit(not (3, 11) <= sys.version_info[:2] <= (3, 14))'

find_python() {
    for name in python3.13 python3.12 python3.11 python3.14 python3; do
        if "$name" -c "$1" >/dev/null 2>&1; then
            echo "$name"
            return 0
        fi
    done
    return 1
}

make_venv() {
    if python=$(find_python "$usable"); then
        "$python" -m venv --clear "$venv" ||
            fail "$python could not make a virtual environment in $venv (its words are above)."
        return
    fi
    if command -v uv >/dev/null 2>&1; then
        # --seed puts pip in, so that the rest is the same on both ways. Older ones know no --clear.
        rm -rf "$venv"
        uv venv --quiet --seed --python '>=3.11,<3.15' "$venv" ||
            fail 'uv could not make a virtual environment (its words are above).'
        return
    fi
    if python=$(find_python "$has_version"); then
        fail "$python is there, but without its venv module." \
            'Debian, Ubuntu: apt install python3-venv' \
            'or install uv: pip install uv'
    fi
    case $system in
    Darwin) fail 'no Python 3.11 to 3.14 was found.' \
        'With Homebrew: brew install python@3.12' \
        'or install uv: brew install uv' ;;
    *) fail 'no Python 3.11 to 3.14 was found.' \
        'Debian, Ubuntu: apt install python3 python3-venv' \
        'Fedora: dnf install python3' \
        'or install uv: pip install uv' ;;
    esac
}

# A broken environment, or one made in another folder, is made anew; a working one is kept.
if [ "$(cat "$venv/.made-for" 2>/dev/null)" != "$(pwd -P)" ] ||
    ! "$venv/bin/python" -c "$has_version" >/dev/null 2>&1 ||
    ! "$venv/bin/python" -m pip --version >/dev/null 2>&1; then
    make_venv
    pwd -P >"$venv/.made-for"
    echo "$extra" >"$venv/.extra"
fi
# MLX's backends cannot live side by side: what the environment was made with stays.
extra=$(cat "$venv/.extra")

case $level in
run)
    extras=$extra
    size='MLX, mlx-lm and what they need, about 350 MB'
    [ "$extra" = cuda ] && size='MLX for CUDA, mlx-lm and what they need, about 3 GB'
    ;;
dev)
    extras=dev
    [ -n "$extra" ] && extras=dev,$extra
    size='the test and lint tools, about 100 MB'
    ;;
*) fail "unknown level $level (run or dev)." ;;
esac
if [ -n "$extras" ]; then target=".[$extras]"; else target=.; fi

echo "Installing into $venv: $size, a minute or two."
"$venv/bin/python" -m pip install --quiet --disable-pip-version-check --editable "$target" ||
    fail 'the packages could not be installed (the words of pip are above).' \
        'Without a network nothing can be fetched; run the same command again once there is one.'
