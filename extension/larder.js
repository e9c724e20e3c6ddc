// Talks to the portal of the Larder on this computer.

/** The portal that is used before another one is named. */
export const usualPortal = "http://larder.localhost:8080"

/** Pages larger than this are not sent; the portal refuses them, too. */
export const maxPageBytes = 256 * 1024 * 1024

/**
 * The origin of a portal, from what a person types: a port, `localhost:8080`, or the URL of the portal.
 * Only the name of the portal on this computer is accepted, which is the only one that the extension may use.
 */
export function portalOrigin(text) {
  const typed = text.trim().replace(/^(\d+)$/, "localhost:$1")
  let url
  try {
    url = new URL(/^https?:/i.test(typed) ? typed : `http://${typed}`)
  } catch {
    throw new Error("This is not the address of a portal. Example: localhost:8080")
  }
  if (url.protocol !== "http:" || !["localhost", "127.0.0.1", "larder.localhost"].includes(url.hostname)) {
    throw new Error("Pages are only sent to a Larder on this computer. Example: localhost:8080")
  }
  return `http://larder.localhost:${url.port || 80}`
}

/** The pairing: the portal and the token for it; null if there is none. */
export async function pairing() {
  const {pairing} = await chrome.storage.local.get("pairing")
  return pairing ?? null
}

/** Exchanges a code that the portal shows for a token, and stores the token. */
export async function pair(address, code) {
  const portal = portalOrigin(address)
  const answer = await send(`${portal}/-/extension/pair`, {
    body: new URLSearchParams({code: code.trim(), name: browserName()}),
  })
  await chrome.storage.local.set({pairing: {portal, token: answer.token}})
  return portal
}

/** Removes the token. The portal keeps its side until the pairing is removed there. */
export async function unpair() {
  await chrome.storage.local.remove("pairing")
}

/**
 * Saves a tab: its document as it is now, with the style sheets, images and fonts that it shows. The file has no
 * cookies, no scripts and no request headers.
 */
export async function save(tab) {
  const paired = await pairing()
  if (!paired) throw new NotPaired()
  if (!/^https?:/i.test(tab.url ?? "")) throw new Error("Only pages over http and https can be saved.")
  if (new URL(tab.url).hostname === "larder.localhost") throw new Error("This is Larder's own page.")
  const page = await capture(tab)
  if (page.byteLength > maxPageBytes) throw new Error("The page is larger than 256 MB.")
  const form = new FormData()
  form.append("file", new Blob([page]), "page.mhtml")
  return send(`${paired.portal}/-/extension/save`, {
    body: form,
    headers: {Authorization: `Bearer ${paired.token}`},
  })
}

/**
 * The content of a tab as MHTML. The browser writes it to a temporary file, which it sometimes deletes before the
 * extension has read it; then it is captured again.
 */
async function capture(tab) {
  for (let attempt = 1; ; attempt++) {
    const file = await chrome.pageCapture.saveAsMHTML({tabId: tab.id})
    try {
      return await file.arrayBuffer()
    } catch (error) {
      if (attempt === 10) throw error
    }
  }
}

/** There is no pairing, or the portal does not know it any more. */
export class NotPaired extends Error {
  constructor(message = "Pair the extension with Larder first.") {
    super(message)
  }
}

async function send(url, options) {
  let response
  try {
    response = await fetch(url, {method: "POST", credentials: "omit", redirect: "error", cache: "no-store", ...options})
  } catch {
    throw new Error("Larder does not answer. Start it with: larder open")
  }
  const answer = await response.json().catch(() => ({}))
  if (response.ok) return answer
  const message = answer.error ?? `Larder answered with status ${response.status}.`
  throw response.status === 401 ? new NotPaired(message) : new Error(message)
}

function browserName() {
  const brand = navigator.userAgentData?.brands.find(({brand}) => !/not.a.brand|chromium/i.test(brand))?.brand
  const platform = navigator.userAgentData?.platform
  return [brand ?? "Chromium", platform].filter(Boolean).join(", ")
}
