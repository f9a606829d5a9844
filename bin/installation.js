// This file is read by any Node, however old, as prospect.js is.
const { existsSync, readFileSync } = require('fs')
const { join } = require('path')

/**
 * Returns how the program in a folder was installed, where, and how to upgrade it. Whoever installs an archive says so in a
 * file beside package.json: how, and on the next line how to upgrade.
 */
function installationOf(root) {
  const path = join(root, 'installed')
  if (existsSync(path)) {
    const [how, upgrade] = readFileSync(path, 'utf8').trim().split(/\r?\n/)
    return { how, upgrade, folder: join(root, '..', '..') }
  }
  if (existsSync(join(root, 'scripts', 'quickstart.js')))
    return { how: 'from a clone', upgrade: 'Run: git pull && npm ci', folder: root }
  const upgrade = 'Run: npm install --global ./prospect-cli-VERSION.tgz'
  return { how: 'with npm', upgrade, folder: root }
}

module.exports = { installationOf }
