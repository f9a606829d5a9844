#!/bin/sh
# Starts prospect with the Node that came with it, wherever a link to this file leads.
self=$0
case $self in */*) ;; *) self=./$self ;; esac
while [ -L "$self" ]; do
  target=$(command -p readlink "$self")
  case $target in
    /*) self=$target ;;
    *) self=${self%/*}/$target ;;
  esac
done
lib=${self%/*}/../lib
exec "$lib/node" "$lib/app/bin/prospect.js" "$@"
