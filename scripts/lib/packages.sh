# To be sourced, after environment.sh: installs Python packages that Debian lacks.

# Installs the wheels of a file with hashes into $SIGNALBOX_TOOLS/NAME, for Debian's Python, whatever is first on the PATH.
python_packages() {
    local name=$1 wheels=$2 size=$3 venv=$SIGNALBOX_TOOLS/$1
    cmp -s "$wheels" "$venv/requirements.txt" && return
    echo "setup: getting the $name of $wheels ($size) into $venv" >&2
    rm -rf "$venv"
    /usr/bin/python3 -m venv "$venv"
    "$venv/bin/python" -m pip install --quiet --disable-pip-version-check --no-deps --only-binary :all: \
        --require-hashes -r "$wheels" || return
    cp "$wheels" "$venv/requirements.txt"
}

# Takes one file out of the wheel that WHEELS names: python_file WHEELS PATH SIZE. Prints where it is. Uses the pip of `site`.
python_file() {
    local wheels=$1 path=$2 size=$3 folder
    folder=$SIGNALBOX_TOOLS/$(basename "$path")
    if ! cmp -s "$wheels" "$folder/requirements.txt"; then
        echo "setup: getting $(basename "$path") of $wheels ($size) into $folder" >&2
        rm -rf "$folder"
        mkdir -p "$folder"
        # The file has no Python in it, so the versions of Python that its wheel is for do not matter.
        "$SIGNALBOX_TOOLS/site/bin/python" -m pip download --quiet --disable-pip-version-check --no-deps --only-binary :all: --python-version 3.12 \
            --require-hashes -r "$wheels" -d "$folder" >&2 || return
        /usr/bin/python3 -c 'import sys, zipfile; open(sys.argv[3], "wb").write(zipfile.ZipFile(sys.argv[1]).read(sys.argv[2]))' \
            "$folder"/*.whl "$path" "$folder/$(basename "$path")" || return
        rm "$folder"/*.whl
        cp "$wheels" "$folder/requirements.txt"
    fi
    echo "$folder/$(basename "$path")"
}

# What scripts/site needs. Prints where Mermaid is.
site_packages() {
    python_packages site scripts/lib/site/requirements.txt "25 MB" &&
        python_file scripts/lib/site/diagrams.txt artoo_mermaid/assets/mermaid.min.js "4 MB"
}
