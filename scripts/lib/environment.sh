# To be sourced: puts the tools that scripts/setup has installed for this project on the PATH.
SIGNALBOX_CACHE="${SIGNALBOX_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/signalbox}"
SIGNALBOX_TOOLS="$SIGNALBOX_CACHE/tools"
mkdir -p "$SIGNALBOX_TOOLS"
export SIGNALBOX_CACHE
if [[ -x "$SIGNALBOX_TOOLS/go-venv/bin/go" ]]; then
    export PATH="$SIGNALBOX_TOOLS/go-venv/bin:$PATH"
fi
# Checkouts share compiler results: paths below the checkout count as relative.
CCACHE_BASEDIR="$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)"
# Precompiled headers are looked up by their content.
export CCACHE_BASEDIR CCACHE_NOHASHDIR=1 CCACHE_SLOPPINESS=pch_defines,time_macros
