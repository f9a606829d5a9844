/** Providers of free mailboxes: the domain of such an address says nothing about an employer. */
export const freeMailboxes: ReadonlySet<string> = new Set(
  `126.com 139.com 163.com aim.com alice.it aliyun.com aol.com aol.de aol.fr arcor.de att.net bbox.fr bellsouth.net
  bigpond.com bluewin.ch bol.com.br btinternet.com bluemail.ch charter.net comcast.net cox.net daum.net duck.com
  earthlink.net email.com email.cz fastmail.com fastmail.fm foxmail.com free.fr freemail.hu freenet.de gmail.com gmx.at
  gmx.ch gmx.com gmx.de gmx.fr gmx.net googlemail.com hanmail.net hey.com hotmail.be hotmail.ca hotmail.co.jp
  hotmail.co.uk hotmail.com hotmail.com.ar hotmail.com.br hotmail.de hotmail.es hotmail.fr hotmail.it hotmail.nl
  icloud.com inbox.com inbox.lv inbox.ru interia.pl laposte.net libero.it list.ru live.be live.ca live.co.uk live.com
  live.de live.dk live.fr live.it live.nl live.se mac.com mail.com mail.de mail.ee mail.ru mailbox.org me.com mozmail.com
  msn.com naver.com nate.com neuf.fr o2.pl onet.pl op.pl orange.fr outlook.be outlook.co.th outlook.com outlook.com.br
  outlook.de outlook.dk outlook.es outlook.fr outlook.it outlook.jp outlook.pt pm.me posteo.de posteo.net proton.me
  protonmail.ch protonmail.com qq.com rambler.ru rediffmail.com rocketmail.com sapo.pt sbcglobal.net seznam.cz sfr.fr
  sina.com sky.com skynet.be sohu.com talktalk.net t-online.de telenet.be terra.com.br tiscali.it tuta.com tutamail.com
  tutanota.com tutanota.de uol.com.br verizon.net virgilio.it virginmedia.com wanadoo.fr web.de wp.pl xtra.co.nz ya.ru
  yahoo.ca yahoo.co.in yahoo.co.jp yahoo.co.uk yahoo.com yahoo.com.ar yahoo.com.au yahoo.com.br yahoo.com.mx yahoo.de
  yahoo.es yahoo.fr yahoo.in yahoo.it yandex.com yandex.ru yeah.net ymail.com ziggo.nl zoho.com zohomail.com`.split(
    /\s+/,
  ),
)
