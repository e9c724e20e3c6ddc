#!/bin/sh
# Installs Larder from a release: sh install.sh [OPTIONS]
#   --system        for all users: a package of the system where there is one, else below /usr/local (standard for root)
#   --user          for this user, below ~/.local (standard for all others)
#   --prefix DIR    below DIR
#   --base URL      the folder with the files of the release (standard: $LARDER_BASE_URL, else that of the project)
#   --sha256 SUM    the expected checksum of the downloaded file, in place of the list SHA256SUMS of the release
#   --uninstall     removes everything that this script installed; the stored sites stay
# Downloads are compared with SHA256SUMS. Where minisign is installed, its signature is verified too.
set -eu

# scripts/release fills in these three.
version=
home=
public_key=

say() { printf '%s\n' "$*" >&2; }
# Exit status 2: wrong usage. 3: the machine or the network is in the way. 1: the download is not what it should be.
fail() { say "install.sh: $1"; exit "${2:-1}"; }

usage() { sed -n '2,/^set /s/^# \{0,1\}//p' "$0" >&2; exit 2; }

base=${LARDER_BASE_URL:-}
prefix=''
scope=''
sum=''
action=install
while [ $# -gt 0 ]; do
    case $1 in
        --system) scope=system ;;
        --user) scope=user ;;
        --prefix | --base | --sha256)
            [ $# -ge 2 ] || usage
            case $1 in
                --prefix) prefix=$2 ;;
                --base) base=$2 ;;
                --sha256) sum=$2 ;;
            esac
            shift
            ;;
        --uninstall) action=uninstall ;;
        *) usage ;;
    esac
    shift
done
[ -n "$scope" ] || if [ "$(id -u)" -eq 0 ]; then scope=system; else scope=user; fi
case $prefix in
    '') if [ "$scope" = system ]; then folder=/usr/local; else folder=$HOME/.local; fi ;;
    /*) folder=$prefix ;;
    *) folder=$PWD/$prefix ;;
esac
list=$folder/share/larder/installed-files

has() { command -v "$1" >/dev/null 2>&1; }

as_root() { if [ "$(id -u)" -eq 0 ]; then "$@"; else sudo "$@"; fi; }

# remove_files: removes the files that standard input lists, and the folders that are empty then.
remove_files() {
    while IFS= read -r name; do
        rm -f "$folder/$name"
        name=$(dirname "$name")
        while [ "$name" != . ] && rmdir "$folder/$name" 2>/dev/null; do name=$(dirname "$name"); done
    done
}

if [ "$action" = uninstall ]; then
    if [ -f "$list" ]; then
        # The list itself comes last.
        { cat "$list" && echo share/larder/installed-files; } >"$list.new"
        mv "$list.new" "$list"
        remove_files <"$list"
    elif has dpkg-query && dpkg-query -W larder >/dev/null 2>&1; then
        as_root dpkg --purge larder
    elif has rpm && rpm -q larder >/dev/null 2>&1; then
        as_root rpm -e larder
    else
        fail "found no installation in $folder; name its folder with --prefix" 3
    fi
    say "larder is removed; the stored sites are still in ${XDG_DATA_HOME:-$HOME/.local/share}/larder, if there are any"
    exit 0
fi

# The machine.
[ "$(uname -s)" = Linux ] || fail "Larder runs on Linux only" 3
machine=$(uname -m)
case $machine in
    x86_64 | aarch64) ;;
    *) fail "there is no release for $machine; build Larder from source, see the README" 3 ;;
esac
glibc=$(getconf GNU_LIBC_VERSION 2>/dev/null | sed 's/.* //') || glibc=''
case $glibc in
    2.*) [ "${glibc#2.}" -ge 36 ] || fail "this system has glibc $glibc; Larder needs 2.36 or later (Debian 12, Ubuntu 24.04, Fedora 37)" 3 ;;
    *) fail "this system has no glibc; use the container image, or build Larder from source" 3 ;;
esac

kind=tar
if [ "$scope" = system ] && [ -z "$prefix" ]; then
    if has apt-get; then kind=deb; elif has dnf || has zypper; then kind=rpm; fi
fi
[ -n "$version" ] || fail "this copy is not from a release; take install.sh from a release" 2
case $kind in
    deb) file=larder_${version}_$(dpkg --print-architecture).deb ;;
    rpm) file=larder-$version-1.$machine.rpm ;;
    tar) file=larder-$version-linux-$machine.tar.gz ;;
esac
if [ -z "$base" ]; then
    case $home in
        '' | *.example) fail "this copy has no address to download from; name one with --base URL" 2 ;;
    esac
    base=$home/releases/download/v$version
fi
base=${base%/}

# The download.
if has curl; then
    case $base in https:*) protocol='=https' ;; *) protocol='=https,http' ;; esac
    fetch() { curl -fsSL --proto-redir "$protocol" --retry 2 --connect-timeout 20 -o "$2" "$1"; }
elif has wget; then
    fetch() { wget -q --tries=3 --timeout=60 -O "$2" "$1"; }
else
    fail "neither curl nor wget is installed; install one of them" 3
fi
work=$(mktemp -d "${TMPDIR:-/tmp}/larder-install.XXXXXX")
trap 'rm -rf "$work"' EXIT
trap 'exit 130' INT TERM
get() { fetch "$base/$1" "$work/$1" || fail "cannot download $base/$1; is the address right, and the network up?" 3; }

if [ -z "$sum" ]; then
    get SHA256SUMS
    if [ -n "$public_key" ] && has minisign; then
        get SHA256SUMS.minisig
        minisign -V -q -P "$public_key" -m "$work/SHA256SUMS" || fail "the signature of SHA256SUMS is wrong; nothing is installed"
        say "the signature is right"
    fi
    # The name is the whole second word: larder-1.tar.gz is not larder-1.tar.gz.old.
    sum=$(awk -v name="$file" '$2 == name || $2 == "*" name {print $1}' "$work/SHA256SUMS")
    [ "${#sum}" -eq 64 ] || fail "SHA256SUMS of $base does not list $file; nothing is installed"
fi
get "$file"
actual=$(sha256sum "$work/$file")
actual=${actual%% *}
[ "$actual" = "$sum" ] ||
    fail "$file is not the file of the release: its SHA-256 is $actual instead of $sum; nothing is installed"

case $kind in
    deb)
        chmod 755 "$work"
        as_root env DEBIAN_FRONTEND=noninteractive apt-get -q -y install "$work/$file" || fail "apt-get could not install $file; run apt-get update first" 3
        command=/usr/bin/larder
        ;;
    rpm)
        if has dnf; then as_root dnf -y install "$work/$file"; else as_root zypper --non-interactive install --allow-unsigned-rpm "$work/$file"; fi ||
            fail "the package could not be installed" 3
        command=/usr/bin/larder
        ;;
    tar)
        mkdir "$work/new"
        tar -C "$work/new" --strip-components=1 -xzf "$work/$file"
        sed -i "s|^ExecStart=/usr/bin/|ExecStart=$folder/bin/|" "$work/new/lib/systemd/user/larder.service" "$work"/new/lib/systemd/system/*
        # Units for the whole system are found below /usr/local only.
        [ "$folder" = /usr/local ] || rm -r "$work/new/lib/systemd/system"
        "$work/new/bin/larder" --version >/dev/null || fail "the command does not run on this machine; nothing is installed" 3
        mkdir -p "$folder" || fail "cannot write to $folder; name another folder with --prefix" 3
        (cd "$work/new" && find . ! -type d -print) | sed 's|^\./||' | sort >"$work/files"
        # A new file takes the place of the old one, so that a running command keeps its own.
        cp -R --remove-destination "$work/new/." "$folder/" || fail "cannot write to $folder; name another folder with --prefix" 3
        # Files of the earlier version that this one does not have.
        if [ -f "$list" ]; then grep -vxFf "$work/files" "$list" | remove_files; fi
        mkdir -p "${list%/*}"
        cp "$work/files" "$list"
        command=$folder/bin/larder
        case :$PATH: in
            *:"$folder/bin":*) ;;
            *) say "$folder/bin is not in PATH: add it, or run $command" ;;
        esac
        ;;
esac
say "installed $("$command" --version): $command"
