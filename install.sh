#!/bin/sh
# Installs Larder from a release. `sh install.sh --help` lists the options.
# Compares downloads with SHA256SUMS. If minisign is installed, verifies its signature too.
set -eu

# scripts/release sets these three variables.
version=
home=
public_key=

usage() {
    cat <<'TEXT'
Installs Larder from a release: sh install.sh [OPTIONS]
  --system             for all users: a package of the system where there is one, else below /usr/local (default for root)
  --user               for this user, below ~/.local (default for all others)
  --prefix DIR         below DIR
  --base URL           the folder with the files of the release, as a URL or a local folder (default: $LARDER_BASE_URL, else the project's)
  --sha256 SUM         the expected checksum of the package or archive, in place of the list SHA256SUMS of the release
  --require-signature  fails unless the signature of SHA256SUMS was verified with minisign
  --public-key KEY     verifies the signature with this key in place of the one in this script; implies --require-signature
  --uninstall          removes everything that this script installed; the stored sites stay
  -h, --help           prints this text
SHA-256 is always checked. The signature is checked if minisign is installed. An address without HTTPS needs the signature or --sha256.
TEXT
}

say() { printf '%s\n' "$*" >&2; }
# Exit status 1: the download is wrong. 2: wrong usage. 3: a problem of this machine or of the network.
fail() { say "install.sh: $1"; exit "${2:-1}"; }

has() { command -v "$1" >/dev/null 2>&1; }

is_root() { [ "$(id -u)" -eq 0 ]; }

as_root() {
    if is_root; then
        "$@"
    elif has sudo; then
        sudo "$@"
    else
        fail "this needs root, and sudo is not installed; run it as root, or without --system" 3
    fi
}

# place COMMAND...: runs a command that changes the folder.
place() { if [ -n "$elevate" ]; then as_root "$@"; else "$@"; fi; }

# is_writable: whether the folder, or the one that it would be made in, can be written to.
is_writable() (
    name=$folder
    while [ ! -e "$name" ]; do name=$(dirname "$name"); done
    [ -w "$name" ]
)

# is_trusted_base: whether the base is encrypted or on this machine, so that the network cannot change its files.
is_trusted_base() (
    case $base in
        https://* | file:*) return 0 ;;
        http://*) ;;
        *) return 1 ;;
    esac
    host=${base#*://}
    host=${host%%[/?#]*}
    case $host in
        localhost | localhost:* | '[::1]' | '[::1]:'*) ;;
        127.*) case ${host%:*} in *[!0-9.]*) return 1 ;; esac ;;
        *) return 1 ;;
    esac
    case $host in *@* | *\\*) return 1 ;; esac
)

# remove_listed FILE: removes the files and empty folders below the folder that FILE lists. Names of folders end with a slash.
remove_listed() {
    # shellcheck disable=SC2016 # The inner shell expands these.
    place sh -c '
        cd "$1"
        grep -v "/\$" "$2" | while IFS= read -r name; do rm -f "./$name"; done
        # The list names a folder after its subfolders.
        grep "/\$" "$2" | LC_ALL=C sort -r | while IFS= read -r name; do rmdir "./$name" 2>/dev/null || true; done
    ' sh "$folder" "$1"
}

# write_list FILE: makes FILE the list of installed files.
write_list() {
    # shellcheck disable=SC2016
    place sh -c 'mkdir -p "${1%/*}" && cp "$2" "$1.new" && mv -f "$1.new" "$1"' sh "$list" "$1" ||
        fail "cannot write to $folder; name another folder with --prefix" 3
}

make_work() {
    work=$(mktemp -d "${TMPDIR:-/tmp}/larder-install.XXXXXX") || fail "cannot make a folder in ${TMPDIR:-/tmp}; set TMPDIR to another one" 3
    trap 'rm -rf "$work"' EXIT
    trap 'exit 129' HUP
    trap 'exit 130' INT
    trap 'exit 143' TERM
}

uninstall() {
    if [ -f "$list" ]; then
        make_work
        # Removes the list after the files, so that an interrupted removal can be repeated.
        { grep -v '/$' "$list" && echo share/larder/installed-files; } >"$work/files"
        grep '/$' "$list" >"$work/folders" || true
        remove_listed "$work/files"
        remove_listed "$work/folders"
    elif [ "$scope" != system ] || [ -n "$prefix" ]; then
        # A package of the system belongs to no folder that was named.
        fail "found no installation in $folder; name its folder with --prefix, or use --system for the package of the system" 3
    elif has dpkg-query && dpkg-query -W larder >/dev/null 2>&1; then
        as_root dpkg --purge larder
    elif has rpm && rpm -q larder >/dev/null 2>&1; then
        as_root rpm -e larder
    else
        fail "found no installation in $folder, and no package; name its folder with --prefix, or use --user" 3
    fi
    say "larder is removed; the stored sites are still in ${XDG_DATA_HOME:-$HOME/.local/share}/larder, if there are any"
}

check_machine() {
    [ "$(uname -s)" = Linux ] || fail "Larder runs on Linux only" 3
    machine=$(uname -m)
    case $machine in
        x86_64 | aarch64) ;;
        *) fail "there is no release for $machine; build Larder from source, see the README" 3 ;;
    esac
    glibc=$(getconf GNU_LIBC_VERSION 2>/dev/null | sed 's/.* //') || glibc=''
    minor=${glibc#2.}
    minor=${minor%%[!0-9]*}
    case $glibc in
        2.[0-9]*) [ "$minor" -ge 36 ] || fail "this system has glibc $glibc; Larder needs 2.36 or later (Debian 12, Ubuntu 24.04, Fedora 37); use the container image" 3 ;;
        *) fail "this system has no glibc; use the container image, or build Larder from source" 3 ;;
    esac
}

get() { fetch "$base/$1" "$work/$1" || fail "cannot download $base/$1; is the address right, and the network up?" 3; }

# choose_fetch: defines fetch URL FILE.
choose_fetch() {
    case $base in
        file:*) fetch() { cp "${1#file://}" "$2"; } ;;
        *)
            if has curl; then
                case $base in https:*) protocol='=https' ;; *) protocol='=https,http' ;; esac
                fetch() { curl -fsSL --proto-redir "$protocol" --retry 2 --connect-timeout 20 -o "$2" "$1"; }
            elif has wget; then
                fetch() { wget -q --tries=3 --timeout=60 -O "$2" "$1"; }
            else
                fail "neither curl nor wget is installed; install one of them" 3
            fi
            ;;
    esac
}

# verify_list: verifies the signature of SHA256SUMS, if that is possible.
verify_list() {
    unchecked=''
    if [ -z "$public_key" ]; then
        unchecked='this copy of install.sh has no public key'
    elif ! has minisign; then
        unchecked='minisign is not installed'
    fi
    if [ -n "$unchecked" ]; then
        [ -z "$require" ] || fail "cannot verify the signature, because $unchecked; nothing is installed" 3
        # An attacker on the network who changes the file changes SHA256SUMS too.
        [ -n "$sum" ] || is_trusted_base ||
            fail "$base is not encrypted, and the signature cannot be verified, because $unchecked; use an https address, install minisign, or name the checksum with --sha256" 3
        [ -n "$sum" ] ||
            say "the signature was not verified, because $unchecked; the download is only compared with the checksum from $base"
        return 0
    fi
    get SHA256SUMS.minisig
    minisign -V -q -P "$public_key" -m "$work/SHA256SUMS" || fail "the signature of SHA256SUMS is wrong; nothing is installed"
    say "the signature is right"
}

# download: downloads $work/$file and compares its checksum.
download() {
    if [ -z "$sum" ] || [ -n "$require" ]; then
        get SHA256SUMS
        verify_list
        # Compares the whole second word: larder-1.tar.gz is not larder-1.tar.gz.old.
        listed=$(awk -v name="$file" '$2 == name || $2 == "*" name {print tolower($1)}' "$work/SHA256SUMS")
        [ "${#listed}" -eq 64 ] || fail "SHA256SUMS of $base does not list $file; nothing is installed"
        [ "${sum:-$listed}" = "$listed" ] || fail "the release lists $listed for $file, and --sha256 names $sum; nothing is installed"
        sum=$listed
    fi
    get "$file"
    actual=$(sha256sum "$work/$file")
    actual=${actual%% *}
    [ "$actual" = "$sum" ] ||
        fail "$file is not the file of the release: its SHA-256 is $actual instead of $sum; nothing is installed"
}

# adapt_units: writes the path of the command into the systemd units, and moves them to folders that systemd reads.
adapt_units() {
    path=$folder/bin/
    case $path in
        *[!A-Za-z0-9/._+-]*)
            # In a unit, a space needs quotes, and a percent sign begins a specifier.
            path=$(printf '%s' "$path" | sed 's/%/%%/g')
            quote='"'
            ;;
        *) quote='' ;;
    esac
    for unit in "$work/new/lib/systemd/user/larder.service" "$work"/new/lib/systemd/system/*; do
        [ -f "$unit" ] || continue
        # Values in the environment keep their backslashes.
        BIN=$path QUOTE=$quote awk '
            index($0, "ExecStart=/usr/bin/") == 1 {
                rest = substr($0, length("ExecStart=/usr/bin/") + 1)
                end = index(rest " ", " ")
                $0 = "ExecStart=" ENVIRON["QUOTE"] ENVIRON["BIN"] substr(rest, 1, end - 1) ENVIRON["QUOTE"] substr(rest, end)
            }
            {print}' "$unit" >"$work/unit"
        cat "$work/unit" >"$unit"
    done
    # systemd reads units from lib only below /usr/local, and from share also in a home folder. A home folder has no system units.
    if [ "$folder" != /usr/local ]; then
        rm -rf "$work/new/lib/systemd/system"
        mkdir -p "$work/new/share"
        mv "$work/new/lib/systemd" "$work/new/share/systemd"
    fi
}

install_archive() {
    mkdir "$work/new"
    tar -C "$work/new" --strip-components=1 -xzf "$work/$file"
    adapt_units
    status=0
    "$work/new/bin/larder" --version >/dev/null || status=$?
    case $status in
        0) ;;
        126) fail "programs cannot run in ${TMPDIR:-/tmp}, which may be mounted noexec; set TMPDIR to another folder; nothing is installed" 3 ;;
        *) fail "the command does not run on this machine; nothing is installed" 3 ;;
    esac
    mkdir -p "$work/new/share/larder"
    (cd "$work/new" && find . ! -type d -print) | sed 's|^\./||' | sort >"$work/files"
    (cd "$work/new" && find . -mindepth 1 -type d -print) | sed 's|^\./||; s|$|/|' | sort >"$work/folders"
    # Existing folders are not removed later, unless an earlier installation made them.
    while IFS= read -r name; do [ -d "$folder/$name" ] || printf '%s\n' "$name"; done <"$work/folders" >"$work/made"
    : >"$work/earlier"
    if [ -f "$list" ]; then cat "$list" >"$work/earlier"; fi
    # The list names everything old and new before a file is copied, so that --uninstall works after an interruption.
    sort -u "$work/files" "$work/made" "$work/earlier" >"$work/all"
    place mkdir -p "$folder" || fail "cannot write to $folder; name another folder with --prefix" 3
    write_list "$work/all"
    # Replaces files instead of overwriting them, so that a running command keeps its own.
    place cp -R --remove-destination "$work/new/." "$folder/" || fail "cannot write to $folder; name another folder with --prefix" 3
    # Removes files and folders of the earlier version that this one does not have.
    sort "$work/files" "$work/folders" >"$work/current"
    grep -vxFf "$work/current" "$work/earlier" >"$work/old" || true
    remove_listed "$work/old"
    # An old folder that contains other files remains, also in the list.
    {
        grep -xFf "$work/current" "$work/all"
        while IFS= read -r name; do [ ! -d "$folder/$name" ] || printf '%s\n' "$name"; done <"$work/old"
    } | sort >"$work/final"
    write_list "$work/final"
    command=$folder/bin/larder
    case :$PATH: in
        *:"$folder/bin":*) ;;
        *) say "$folder/bin is not in PATH: add it, or run $command" ;;
    esac
}

install_release() {
    check_machine
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
    # A local folder, such as a USB stick.
    if [ -d "$base" ]; then base=file://$(cd "$base" && pwd); fi
    base=${base%/}
    choose_fetch
    make_work
    download

    case $kind in
        deb)
            # apt-get reads the file as another user.
            chmod 755 "$work"
            # Installs the version of this install.sh, even if a newer one is installed.
            as_root env DEBIAN_FRONTEND=noninteractive apt-get -q -y --allow-downgrades install "$work/$file" ||
                fail "apt-get could not install $file; run apt-get update first" 3
            command=/usr/bin/larder
            ;;
        rpm)
            # RPMs have no signature of their own; the checksum was compared above.
            if has dnf; then
                as_root dnf -y install "$work/$file"
            else
                as_root zypper --non-interactive install --allow-unsigned-rpm --oldpackage "$work/$file"
            fi || fail "the package could not be installed" 3
            command=/usr/bin/larder
            ;;
        tar) install_archive ;;
    esac
    say "installed $("$command" --version): $command"
}

main() {
    base=${LARDER_BASE_URL:-}
    prefix=''
    scope=''
    sum=''
    require=''
    action=install
    while [ $# -gt 0 ]; do
        case $1 in
            --system) scope=system ;;
            --user) scope=user ;;
            --prefix | --base | --sha256 | --public-key)
                # An empty value usually comes from a variable that is not set.
                [ -n "${2:-}" ] || fail "$1 needs a value; see --help" 2
                case $1 in
                    --prefix) prefix=$2 ;;
                    --base) base=$2 ;;
                    --sha256) sum=$(printf '%s' "$2" | tr 'A-F' 'a-f') ;;
                    --public-key) public_key=$2 require=yes ;;
                esac
                shift
                ;;
            --require-signature) require=yes ;;
            --uninstall) action=uninstall ;;
            -h | --help) usage; exit 0 ;;
            *) say "install.sh: there is no option $1"; usage >&2; exit 2 ;;
        esac
        shift
    done
    case $sum in *[!0-9a-f]*) fail "--sha256 needs 64 hexadecimal digits" 2 ;; esac
    case ${#sum} in 0 | 64) ;; *) fail "--sha256 needs 64 hexadecimal digits" 2 ;; esac
    [ -n "$scope" ] || if is_root; then scope=system; else scope=user; fi
    # Makes the files readable for other users, whatever the umask of root is.
    [ "$scope" = user ] || umask 022
    case $prefix in
        '') if [ "$scope" = system ]; then folder=/usr/local; else folder=$HOME/.local; fi ;;
        /*) folder=$prefix ;;
        *) folder=$PWD/$prefix ;;
    esac
    while [ "$folder" != "${folder%/}" ]; do folder=${folder%/}; done
    case $folder in
        '') fail "--prefix needs a folder below /" 2 ;;
        # systemd does not run commands whose paths contain these characters.
        *[[:cntrl:]\"\'\\]*) fail "--prefix has a quote, a backslash or a control character" 2 ;;
    esac
    list=$folder/share/larder/installed-files
    elevate=''
    if [ "$scope" = system ] && ! is_root; then
        if [ -z "$prefix" ] || ! is_writable; then elevate=yes; fi
    fi
    if [ "$action" = uninstall ]; then uninstall; else install_release; fi
}

# The shell runs a group only after reading its end, so an incomplete download of this script runs nothing.
{
    main "$@"
    exit 0
}
