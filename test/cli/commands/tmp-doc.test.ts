import {it} from 'vitest'
import {statSync,rmSync} from 'node:fs'
import {command,folder} from '../command.js'
import {lookAt} from '../../../src/storage/look.js'
it('x', async()=>{ const home=await folder(); const env={PROSPECT_HOME:home}
 await command(['data','sample','--companies','20000','--people','60000'],{env})
 const l=lookAt(home+'/catalogue.db'); const t=Date.now(); console.log(l.faults(), Date.now()-t, statSync(home+'/catalogue.db').size/1e6); await l.driver.close(); rmSync(home,{recursive:true})
},200000)
