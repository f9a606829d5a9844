#!/bin/sh
# Installs prospect @VERSION@ for one user, with a Node of its own, and upgrades or removes it.
#   sh install.sh [--prefix FOLDER] [--from FOLDER-OR-ADDRESS]
#   sh install.sh --uninstall [--prefix FOLDER]
# The archive is taken from the folder of this script, else downloaded. It is checked against the sum below.
set -eu
umask 022

version=@VERSION@
from=@URL@
prefix=${HOME:-}/.local
uninstall=false

fail() {
  printf 'install.sh: %s\n' "$1" >&2
  exit 1
}

while [ $# -gt 0 ]; do
  case $1 in
    --prefix | --from)
      [ $# -gt 1 ] || fail "$1 needs a value."
      if [ "$1" = --prefix ]; then prefix=$2; else from=$2; fi
      shift
      ;;
    --uninstall) uninstall=true ;;
    -h | --help)
      sed -n '2,5s/^# *//p' "$0"
      exit 0
      ;;
    *) fail "There is no option $1. Run: sh install.sh --help" ;;
  esac
  shift
done
case $prefix in
  /.local) fail 'HOME is not set. Name a folder: sh install.sh --prefix FOLDER' ;;
  /*) ;;
  *) prefix=$PWD/$prefix ;;
esac
prefix=${prefix%/}
place=$prefix/lib/prospect
new=$prefix/lib/.prospect-new
old=$prefix/lib/.prospect-old

# Creates a folder, and notes each one that was not there: uninstalling removes those again.
make_folder() {
  if [ -z "$1" ] || [ -d "$1" ]; then return; fi
  make_folder "${1%/*}"
  mkdir "$1"
  created="$1
${created:-}"
}

# Removes the folders of a list, one a line, that are empty.
remove_folders() {
  printf '%s\n' "$1" | while IFS= read -r folder; do
    [ -z "$folder" ] || rmdir "$folder" 2>/dev/null || true
  done
}

# Leaves everything as it was, where the installation did not come to its end.
clean_up() {
  rm -rf "$temporary" "$new"
  if [ ! -d "$place" ]; then
    if [ -d "$old" ]; then mv "$old" "$place"; else remove_folders "${created:-}"; fi
  fi
}

# Prints each link of an installation: where it is, and what it leads to.
links_of() {
  (
    cd "$1"
    for file in bin/prospect share/man/man1/* share/bash-completion/completions/* share/zsh/site-functions/* \
      share/fish/vendor_completions.d/*; do
      [ -f "$file" ] && printf '%s\n' "$file"
    done
    true
  )
}

# Returns whether a file is a link into our folder.
is_ours() {
  [ -L "$1" ] && case $(readlink "$1") in "$place"/*) true ;; *) false ;; esac
}

# What a killed installation left: the old version goes back where it was.
if [ ! -d "$place" ] && [ -d "$old" ]; then mv "$old" "$place"; fi
rm -rf "$new" "$old"

if $uninstall; then
  [ -d "$place" ] || fail "prospect is not installed in $place."
  data=$("$place/bin/prospect" config path 2>/dev/null || true)
  links_of "$place" | while IFS= read -r file; do
    if is_ours "$prefix/$file"; then rm -f "$prefix/$file"; fi
  done
  folders=$(cat "$place/created-folders" 2>/dev/null || true)
  rm -rf "$place"
  remove_folders "$folders"
  printf 'Removed prospect from %s.\n' "$prefix"
  if [ -n "$data" ]; then printf 'Your settings and data stay; the settings are in %s.\n' "${data%/*}"; fi
  exit 0
fi

case $(uname -s) in
  Linux) system=linux ;;
  Darwin) system=darwin ;;
  *) fail "There is no archive for $(uname -s). Install with npm: npm install --global ./prospect-cli-$version.tgz" ;;
esac
case $(uname -m) in
  x86_64 | amd64) machine=x64 ;;
  aarch64 | arm64) machine=arm64 ;;
  *) fail "There is no archive for $(uname -m)." ;;
esac
if [ "$system" = linux ]; then
  for file in /lib/ld-musl-*; do
    if [ -e "$file" ] && [ ! -e /lib64/ld-linux-x86-64.so.2 ] && [ ! -e /lib/ld-linux-aarch64.so.1 ]; then
      fail "The archives need glibc, which this system lacks. Install with npm: npm install --global ./prospect-cli-$version.tgz"
    fi
  done
fi
case $system-$machine in
  linux-x64) wanted=@SUM_LINUX_X64@ ;;
  linux-arm64) wanted=@SUM_LINUX_ARM64@ ;;
  darwin-arm64) wanted=@SUM_DARWIN_ARM64@ ;;
  darwin-x64) wanted=@SUM_DARWIN_X64@ ;;
esac
name=prospect-$version-$system-$machine
archive=$name.tar.gz

if [ -e "$prefix/bin/prospect" ] || [ -L "$prefix/bin/prospect" ]; then
  is_ours "$prefix/bin/prospect" ||
    fail "$prefix/bin/prospect belongs to another installation. Remove that first, or give another --prefix."
fi

temporary=$(mktemp -d)
trap clean_up EXIT
trap 'exit 130' INT
trap 'exit 143' TERM HUP
beside=$(dirname "$0")/$archive
if [ -f "$beside" ]; then
  file=$beside
elif [ -f "$from/$archive" ]; then
  file=$from/$archive
else
  file=$temporary/$archive
  printf 'Downloading %s\n' "$from/$archive"
  if command -v curl >/dev/null; then
    curl --fail --silent --show-error --location --output "$file" "$from/$archive" || fail 'The download failed.'
  elif command -v wget >/dev/null; then
    wget -q -O "$file" "$from/$archive" || fail 'The download failed.'
  else
    fail "curl or wget is needed to download $archive. Or put it beside this script."
  fi
fi

if command -v sha256sum >/dev/null; then
  sum=$(sha256sum <"$file")
elif command -v shasum >/dev/null; then
  sum=$(shasum -a 256 <"$file")
else
  fail 'sha256sum or shasum is needed to check the archive.'
fi
[ "${sum%% *}" = "$wanted" ] ||
  fail "$file is damaged, or of another version: its SHA-256 is ${sum%% *}, not $wanted. Nothing was installed."

make_folder "$prefix/lib"
mkdir "$new"
tar -xzf "$file" -C "$new" || fail "$file could not be unpacked. Nothing was installed."
printf 'with install.sh\nRun the install.sh of the new version.\n' >"$new/$name/lib/app/installed"
"$new/$name/bin/prospect" --version >/dev/null || fail 'The program does not start on this machine. Nothing was installed.'
if [ -d "$place" ]; then
  created=$(cat "$place/created-folders" 2>/dev/null || true)
  mv "$place" "$old"
fi
mv "$new/$name" "$place"
links_of "$place" >"$temporary/links"
while IFS= read -r file; do
  make_folder "$prefix/${file%/*}"
  if [ ! -e "$prefix/$file" ] || is_ours "$prefix/$file"; then ln -sf "$place/$file" "$prefix/$file"; fi
done <"$temporary/links"
printf '%s\n' "${created:-}" >"$place/created-folders"
if [ -d "$old" ]; then
  links_of "$old" | while IFS= read -r file; do
    if is_ours "$prefix/$file" && [ ! -e "$prefix/$file" ]; then rm -f "$prefix/$file"; fi
  done
fi
rm -rf "$old" "$new"

printf 'Installed prospect %s in %s.\n' "$version" "$place"
case :$PATH: in
  *:"$prefix/bin":*) printf 'Begin with: prospect init\n' ;;
  *)
    printf 'Add this line to ~/.profile (~/.zprofile on macOS), and open a new terminal:\n'
    printf '  export PATH="%s:%s"\n' "$prefix/bin" "\$PATH"
    ;;
esac
printf 'Completion works in bash and fish. For zsh, add to ~/.zshrc, before compinit:\n  fpath+=("%s")\n' \
  "$prefix/share/zsh/site-functions"
