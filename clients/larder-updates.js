// Keeps the files of a web app at a verified release, for WebViews and service workers. See README.md.

/**
 * @typedef {object} Options
 * @property {string} manifest The URL of the manifest, in Larder's format.
 * @property {string} [name] Names the stored releases: one name for each app of an origin. Default: "app".
 * @property {string} [base] The URL of the files. Default: what the manifest says, else its own URL.
 * @property {string[]} [keys] Minisign keys (RW…). One of them must have signed the manifest.
 * @property {boolean} [allowRollback] Accepts a manifest that is older than the one accepted last.
 * @property {(body: Uint8Array) => string | Promise<string>} [md5] Returns an MD5 in hexadecimal digits. Without it, MD5
 *   proves nothing, because WebCrypto does not have it.
 * @property {(key: Uint8Array, signature: Uint8Array, message: Uint8Array) => boolean | Promise<boolean>} [ed25519]
 *   Verifies a signature. Default: WebCrypto.
 * @property {string} [device] The stable ID of the app on this device, for roll-outs and reports to an update server. Default:
 *   the parameter `device` of the manifest's URL.
 * @property {Record<string, string>} [headers] Headers of the request for the manifest.
 * @property {RequestCredentials} [credentials] Whether requests send cookies. Default: "same-origin".
 * @property {string} [navigationPage] The file for pages that are not files of the release, such as "index.html".
 * @property {(report: Report) => void} [onReport] Receives each report.
 * @property {string} [reportURL] Each report is posted to this URL as JSON.
 * @property {number} [maxFiles] Default: 5000.
 * @property {number} [maxBytes] The maximum size of a release. Default: 256 MiB.
 * @property {number} [maxSeconds] The maximum time of an update. Default: 300.
 * @property {number} [startSeconds] The time in which a page that is still open may call `started`. Default: 10.
 *
 * @typedef {object} Report
 * @property {string} app The name of the app.
 * @property {"current" | "changed" | "refused" | "expired" | "unreachable" | "interrupted" | "failed" | "started" | "fellBack"}
 *   outcome Of an update: nothing is new; a new release is live; the manifest or a file is not acceptable; the manifest has
 *   expired; the server cannot be reached; the signal of the caller came; the browser could not store it. Of a start: the
 *   app has confirmed the release, or returned to the one before.
 * @property {string} [reason] Why an update did not succeed.
 * @property {string | null} release The SHA-256 of the live manifest; null if no release is live.
 * @property {string} [version] The version of the live release.
 * @property {string} [failed] The release that did not start.
 * @property {number} [fetched] The number of files that were fetched.
 * @property {number} [reused] The number of files that were stored before.
 * @property {number} [bytes] The size of the fetched files and the manifest.
 * @property {number} [milliseconds]
 * @property {{url: string, reason: string}[]} [problems] Optional files that the release does not have.
 */

const ALGORITHMS = {sha1: "SHA-1", sha256: "SHA-256", sha384: "SHA-384", sha512: "SHA-512"}
const MAX_MANIFEST_BYTES = 4 << 20
const MAX_SIGNATURE_BYTES = 16 << 10
/** Marks the requests of updates: a service worker sees the fragment of a URL, and a server does not. */
const MARK = "#larder-update"
/** Names the release of a page, which reads it from the timing of its own request. */
const TIMING = "larder"

/** The reason why an update does not succeed. */
class Problem extends Error {
  constructor(outcome, reason) {
    super(reason)
    this.outcome = outcome
  }
}

const refuse = (reason) => { throw new Problem("refused", reason) }
const hex = (bytes) => Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("")
const digest = async (algorithm, bytes) => new Uint8Array(await crypto.subtle.digest(algorithm, bytes))
const fromBase64 = (text) => Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0))

export class LarderUpdates {
  #options; #manifest; #locks; #database; #pins; #running
  #releases = new Map()

  /** @param {Options} options */
  constructor(options) {
    this.#options = {
      name: "app", keys: [], maxFiles: 5000, maxBytes: 256 << 20, maxSeconds: 300, startSeconds: 10,
      credentials: "same-origin", ...options,
    }
    const manifest = new URL(this.#options.manifest, globalThis.location?.href)
    const {device} = this.#options
    if (device) manifest.searchParams.set("device", device)
    this.#manifest = manifest.href
    this.#locks = globalThis.navigator?.locks
    if (!globalThis.caches || !globalThis.indexedDB || !globalThis.crypto?.subtle) {
      throw new Error("Cache Storage, IndexedDB or WebCrypto is missing: load the app over https or from localhost")
    }
  }

  // Updates

  /**
   * Fetches the manifest, and the files that differ from those of the live release. The new release is live when all
   * required files are verified and stored: from the next start on. Errors are reports.
   *
   * @param {{signal?: AbortSignal, retry?: boolean, wait?: number}} [how] `retry` also accepts a release that did not start
   *   before. `wait` lets an update server wait this many seconds for a release, if there is none yet.
   * @returns {Promise<Report>}
   */
  async update({signal, retry, wait} = {}) {
    const abort = new AbortController()
    const stop = () => abort.abort(new Problem("interrupted", "the update was stopped"))
    const {maxSeconds, name} = this.#options
    const late = new Problem("unreachable", `the update took longer than ${maxSeconds} s`)
    const timer = setTimeout(() => abort.abort(late), maxSeconds * 1000)
    signal?.addEventListener("abort", stop)
    if (signal?.aborted) stop()
    const begun = performance.now()
    const count = {fetched: 0, reused: 0, bytes: 0, problems: []}
    let result
    try {
      const run = () => this.#update(count, abort, retry, wait)
      // Of several tabs, each waits for the one before, and then finds its release.
      const outcome = await (this.#locks?.request(`larder:${name}:update`, {signal: abort.signal}, run) ?? run())
      result = {outcome}
    } catch (error) {
      const cause = abort.signal.reason instanceof Problem ? abort.signal.reason : error
      result = {outcome: cause.outcome ?? "failed", reason: cause.message ?? String(cause)}
    }
    clearTimeout(timer)
    signal?.removeEventListener("abort", stop)
    return this.#report({...result, ...count, milliseconds: Math.round(performance.now() - begun)})
  }

  async #update(count, abort, retry, wait) {
    await this.#sendReports()
    const state = await this.#state()
    const answer = await this.#get(this.#manifest, MAX_MANIFEST_BYTES, abort.signal, {
      cache: "no-store",
      headers: {
        ...this.#options.headers, ...(state.etag && {"If-None-Match": state.etag}), ...(wait && {Prefer: `wait=${wait}`}),
      },
    })
    // An update server has nothing for this device.
    if (answer.status === 204) return "current"
    if (answer.status === 410) return this.#leave(answer.headers.get("ETag"))
    const isUnchanged = answer.status === 304
    if (isUnchanged && !(retry && state.failed.includes(state.checked))) {
      if (state.failed.includes(state.checked)) refuse("this release did not start before; publish a newer one")
      return "current"
    }
    if (isUnchanged) return this.#update(count, abort, await this.#forget())
    count.bytes += answer.body.length
    const release = await this.#read(answer.body, abort.signal)
    release.etag = answer.headers.get("ETag")
    release.update = answer.headers.get("Larder-Update") ?? undefined
    this.#checkAge(release, state)
    if (!retry && state.failed.includes(release.id)) refuse("this release did not start before; publish a newer one")
    if (release.id === state.live) {
      await this.#change((now, records) => {
        this.#accept(now, release)
        // The same release, announced again.
        records.put(release, release.id)
        if (now.isConfirmed) this.#addReport(now, release, "installed")
      })
      this.#releases.delete(release.id)
      await this.#sendReports()
      return "current"
    }
    await this.#prune(state, release.id)
    await this.#store(release, state, count, abort)
    // The only write that changes which release is live.
    const dropped = await this.#change((now, records) => {
      const before = [now.live, now.previous]
      // A release that was never confirmed is nothing to return to.
      if (now.isConfirmed) now.previous = now.live
      now.live = release.id
      now.isConfirmed = false
      now.attempt = null
      now.failed = now.failed.filter((id) => id !== release.id)
      this.#accept(now, release)
      records.put(release, release.id)
      return before.filter((id) => id && !this.#isUsed(now, id))
    })
    await this.#prune(await this.#state(), release.id, dropped)
    return "changed"
  }

  /** Returns to the files that the app was built with, because the update server has rolled back to them. */
  async #leave(etag) {
    const hadRelease = await this.#change((state) => {
      const {live} = state
      Object.assign(state, {live: null, previous: null, isConfirmed: true, attempt: null, etag, checked: null})
      return live
    })
    return hadRelease ? "changed" : "current"
  }

  /** Parses and verifies a manifest. */
  async #read(bytes, signal) {
    const {keys, maxFiles, maxBytes, base, md5} = this.#options
    let text, manifest
    try {
      text = new TextDecoder("utf-8", {fatal: true, ignoreBOM: true}).decode(bytes)
      manifest = JSON.parse(text)
    } catch (error) {
      refuse(`the manifest is not JSON: ${error.message}`)
    }
    const signature = keys.length ? await this.#verify(text, manifest, bytes, signal) : {}
    const times = [manifest.created, manifest.expires].map((time) => time === undefined ? undefined : Date.parse(time))
    if (times.some(Number.isNaN)) refuse("a time of the manifest is not one of RFC 3339")
    if (times[1] < Date.now()) throw new Problem("expired", `the manifest has expired on ${manifest.expires}`)
    const list = manifest.bundles
    if (!Array.isArray(list) || !list.length) refuse("the manifest has no bundles")
    if (list.length > maxFiles) refuse(`the manifest has ${list.length} files, more than ${maxFiles}`)
    if (list.reduce((sum, file) => sum + (file.size ?? 0), 0) > maxBytes) refuse(`the files exceed ${maxBytes} bytes`)
    const root = new URL(base ?? manifest.base ?? "", this.#manifest)
    const files = {}
    for (const {url, size, required, ...claims} of list) {
      const target = URL.canParse(url, root) ? new URL(url, root) : refuse(`the URL ${url} is not valid`)
      target.hash = ""
      if (!/^https?:$/.test(target.protocol)) refuse(`the URL ${url} is not one of http or https`)
      if (files[target]) refuse(`the URL ${url} is listed twice`)
      const integrity = strongest(claims.integrity ?? "")
      if (!claims.sha256 && !claims.sha384 && !claims.sha512 && !integrity && !(claims.md5 && md5)) {
        refuse(`${url} has no digest that counts; add a SHA-256${claims.md5 ? ", or pass a function for MD5" : ""}`)
      }
      files[target] = {size, isRequired: required !== false, claims, integrity}
    }
    return {
      id: hex(await digest("SHA-256", bytes)), version: manifest.version, created: times[0] ?? signature.time,
      signer: signature.signer, root: root.href, files,
    }
  }

  /** Verifies the signature in the manifest, or the one beside it. */
  async #verify(text, manifest, bytes, signal) {
    const url = new URL(this.#manifest)
    const name = decodeURIComponent(url.pathname.split("/").pop())
    let signature = manifest.signature
    if (signature !== undefined) {
      // It signs all bytes except those of its own member, the last one. No other JSON has this text at its end.
      const member = /,\s*"signature"\s*:\s*"(?:[^"\\]|\\.)*"(?=\s*\}\s*$)/.exec(text)
      if (!member) refuse("the signature is not the last member of the manifest")
      bytes = new TextEncoder().encode(text.slice(0, member.index) + text.slice(member.index + member[0].length))
    } else {
      url.pathname += ".minisig"
      const answer = await this.#get(url.href, MAX_SIGNATURE_BYTES, signal, {cache: "no-store"}).catch((error) => {
        throw error.isGone ? new Problem("refused", "the manifest is not signed, but a key is required") : error
      })
      signature = new TextDecoder().decode(answer.body)
    }
    return verifyMinisign(bytes, String(signature), this.#options.keys, name, this.#options.ed25519 ?? verifyEd25519)
  }

  /** Refuses a manifest that is older than the one accepted last. One with a signature is not bound by one without. */
  #checkAge(release, {accepted}) {
    const {allowRollback, keys} = this.#options
    if (allowRollback || !accepted || accepted.id === release.id) return
    const lastKey = accepted.signer
    if (lastKey ? lastKey !== release.signer && !keys.includes(lastKey) : release.signer) return
    const order = orderOfVersions(release.version, accepted.version) || Math.sign(release.created - accepted.created)
    const lacks = (member) => release[member] === undefined && accepted[member] !== undefined
    if (order < 0 || (!order && (lacks("version") || lacks("created")))) {
      const text = ({version, created}) => [version, created && new Date(created).toISOString()].filter(Boolean).join(" of ")
      refuse(`the manifest (${text(release) || "without version and time"}) is older than ${text(accepted)}`)
    }
  }

  #accept(state, {id, version, created, signer, etag}) {
    state.accepted = {id, version, created, signer}
    state.checked = id
    state.etag = etag
  }

  /** Stores the files of a release. Those that an interrupted update has stored are verified already. */
  async #store(release, state, count, abort) {
    const [next, old] = await Promise.all([this.#cache(release.id), state.live && this.#cache(state.live)])
    const queue = Object.entries(release.files)
    // On an update server, each release has URLs of its own.
    const record = state.live && await this.#release(state.live)
    const byDigest = new Map(Object.entries(record?.files ?? {}).map(([url, {claims}]) => [claims.sha256, url]))
    let left = this.#options.maxBytes
    const storeOne = async (url, file) => {
      if (await next.match(url, MATCHING)) return count.reused++
      const known = await old?.match(url, MATCHING)
        ?? (file.claims.sha256 && await old?.match(byDigest.get(file.claims.sha256) ?? url, MATCHING))
      if (known) {
        const body = new Uint8Array(await known.arrayBuffer())
        if (!await this.#mismatch(file, body)) {
          await next.put(url, stored(known, body))
          return count.reused++
        }
      }
      const answer = await this.#getVerified(url, file, left, abort.signal)
      if ((left -= answer.body.length) < 0) refuse(`the files exceed ${this.#options.maxBytes} bytes`)
      await next.put(url, stored(answer, answer.body))
      count.fetched++
      count.bytes += answer.body.length
    }
    let failure
    const work = async () => {
      for (let item; !failure && (item = queue.shift());) {
        try {
          await storeOne(...item)
        } catch (error) {
          if (!item[1].isRequired && error.outcome === "refused") {
            count.problems.push({url: item[0], reason: error.message})
          } else if (!failure) {
            failure = error
            abort.abort(error)
          }
        }
      }
    }
    await Promise.all(Array.from({length: 6}, work))
    if (failure?.name === "QuotaExceededError") await caches.delete(this.#cacheName(release.id))
    if (failure) throw failure
    // Another tab without locks, or the browser, may have removed the cache meanwhile.
    const has = new Set((await next.keys()).map((request) => request.url))
    const lost = Object.keys(release.files).find((url) => release.files[url].isRequired && !has.has(url))
    if (lost) throw new Problem("failed", `the stored file ${lost} has disappeared`)
  }

  /** Fetches a file. A response with another digest may come from a cache on the way, and is fetched again once. */
  async #getVerified(url, file, limit, signal) {
    let reason
    for (const cache of ["no-cache", "reload"]) {
      const answer = await this.#get(url, Math.min(limit, file.size ?? limit), signal, {cache})
      reason = await this.#mismatch(file, answer.body)
      if (!reason) return answer
    }
    refuse(`${url}: ${reason}`)
  }

  /** Why a body does not have the digests of its file; undefined if it has all of them. */
  async #mismatch({size, claims, integrity}, body) {
    if (size !== undefined && size !== body.length) return `it has ${body.length} bytes in place of ${size}`
    for (const [name, algorithm] of Object.entries(ALGORITHMS)) {
      if (claims[name] && hex(await digest(algorithm, body)) !== claims[name].toLowerCase()) return `its ${algorithm} differs`
    }
    if (integrity) {
      const own = await digest(integrity.algorithm, body)
      if (!integrity.digests.includes(hex(own))) return `its integrity differs`
    }
    const {md5} = this.#options
    if (claims.md5 && md5 && (await md5(body)).toLowerCase() !== claims.md5.toLowerCase()) return "its MD5 differs"
  }

  /** Fetches a URL, and stops when its body exceeds the limit. */
  async #get(url, limit, signal, init) {
    const fail = (why) => { throw new Problem("unreachable", `${url}: ${why}`) }
    const init2 = {credentials: this.#options.credentials, signal, ...init}
    const response = await fetch(url + MARK, init2).catch((error) => fail(error.message))
    const {status, headers} = response
    const isLeft = status === 410 && headers.has("Larder-Update")
    if (status === 204 || status === 304 || isLeft) return {status, headers, body: new Uint8Array()}
    if (!response.ok) {
      const isGone = status === 404 || status === 410
      const problem = new Problem(isGone ? "refused" : "unreachable", `${url}: the server answered ${status}`)
      throw Object.assign(problem, {isGone})
    }
    const parts = []
    let length = 0
    const reader = response.body.getReader()
    for (;;) {
      const {done, value} = await reader.read().catch((error) => fail(error.message))
      if (done) break
      parts.push(value)
      if ((length += value.length) > limit) {
        reader.cancel().catch(() => {})
        refuse(`${url}: it has more than ${limit} bytes`)
      }
    }
    return {status, headers, body: new Uint8Array(await new Blob(parts).arrayBuffer())}
  }

  // Starts

  /**
   * Begins a start of the app, without a service worker. Returns to the previous release if the live one was started
   * before, and did not call `started`.
   *
   * @returns {Promise<Release | null>} The release for this start; null if none is stored.
   */
  async start() {
    const holder = `larder:${this.#options.name}:start:${crypto.randomUUID()}`
    // The lock shows other pages that this one is still open.
    if (this.#locks) await new Promise((held) => this.#locks.request(holder, () => new Promise(() => held())))
    const id = await this.#begin(holder)
    this.#running = id
    return id && new Release(await this.#release(id), await this.#cache(id), (url) => this.#heal(id, url))
  }

  /** Confirms that the release of this page works. Returns whether this page has one. */
  async started() {
    const running = this.#runningRelease()
    const release = running && await this.#release(running)
    const isNew = running && await this.#change((state) => {
      const isNew = state.live === running && !state.isConfirmed
      if (isNew) Object.assign(state, {isConfirmed: true, attempt: null})
      if (isNew) this.#addReport(state, release, "installed")
      return isNew
    })
    if (isNew) await this.#report({outcome: "started"})
    return Boolean(running)
  }

  /** Returns to the release before the one of this page, from the next start on. It is not fetched again. */
  async fallBack(reason = "the app reported a failure") {
    const running = this.#runningRelease()
    const release = running && await this.#release(running)
    const isLive = running && await this.#change((state) => {
      if (state.live !== running) return false
      this.#addReport(state, release, "failed")
      return fallBack(state)
    })
    if (isLive) await this.#report({outcome: "fellBack", failed: running, reason})
    return Boolean(isLive)
  }

  /** The release that the next start uses, and the one before. */
  async status() {
    const {live, previous, isConfirmed} = await this.#state()
    return {live, previous, isConfirmed, version: (await this.#release(live))?.version}
  }

  /** The SHA-256 of the manifest of the release that this page was loaded from. */
  #runningRelease() {
    const [page] = globalThis.performance?.getEntriesByType?.("navigation") ?? []
    return this.#running ?? page?.serverTiming?.find((entry) => entry.name === TIMING)?.description
  }

  /** Chooses the release for a start by a page or client. */
  async #begin(holder) {
    const {live, isConfirmed, attempt} = await this.#state()
    const hasFailed = live && !isConfirmed && attempt && !await this.#isStarting(attempt)
    const release = hasFailed && await this.#release(live)
    const [id, hasFallenBack] = await this.#change((state) => {
      const isSame = hasFailed && state.live === live && state.attempt?.holder === attempt.holder
      if (isSame) {
        this.#addReport(state, release, "failed")
        fallBack(state)
      }
      if (state.live && !state.isConfirmed) state.attempt = {holder, time: Date.now()}
      return [state.live, isSame]
    })
    const reason = "it was not confirmed before the next start"
    if (hasFallenBack) this.#report({outcome: "fellBack", failed: live, reason})
    return id
  }

  /** Whether the page that made an attempt is still open, and has time left. */
  async #isStarting({holder, time}) {
    if (Math.abs(Date.now() - time) >= this.#options.startSeconds * 1000) return false
    if (globalThis.clients) return Boolean(await clients.get(holder))
    return (await this.#locks?.query())?.held.some((lock) => lock.name === holder) ?? false
  }

  // Service worker

  /**
   * Answers the requests of a service worker. Each page is answered from one release as long as it is open: the one that
   * is live when the page is opened.
   */
  serve(worker = globalThis) {
    worker.addEventListener("fetch", (event) => {
      const {request} = event
      const isOwn = request.url.endsWith(MARK) || request.url.split("#")[0] === this.#manifest
      // Chromium's developer tools send such requests, which no worker can pass on.
      const isUnanswerable = request.cache === "only-if-cached" && request.mode !== "same-origin"
      if (request.method === "GET" && /^http/.test(request.url) && !isOwn && !isUnanswerable) {
        event.respondWith(this.#answer(event))
      }
    })
  }

  async #answer({request, clientId, resultingClientId}) {
    let release
    try {
      const id = await this.#pinned(request, clientId, resultingClientId)
      release = id && new Release(await this.#release(id), await this.#cache(id), (url) => this.#heal(id, url))
    } catch (error) {
      // Storage that the browser has removed or cannot read.
      console.warn("larder:", error)
    }
    const isPage = request.mode === "navigate"
    const url = release?.find(request.url, isPage) ?? (isPage ? release?.find(this.#options.navigationPage) : null)
    return url ? release.response(url, request.headers.get("Range")) : fetch(request)
  }

  /** The release for a request: the one of its page. Pages from the network get everything from the network. */
  async #pinned(request, clientId, resultingClientId) {
    this.#pins ??= this.#state().then(({pins}) => pins)
    const pins = await this.#pins
    const isStart = request.destination === "document"
    const id = isStart ? await this.#begin(resultingClientId) : pins[clientId]?.id
    if (resultingClientId && id) {
      const open = new Set((await clients.matchAll({includeUncontrolled: true, type: "all"})).map((client) => client.id))
      const recent = Date.now() - 60_000
      for (const [client, {time}] of Object.entries(pins)) if (!open.has(client) && time < recent) delete pins[client]
      pins[resultingClientId] = {id, time: Date.now()}
      await this.#change((state) => { state.pins = pins })
    }
    return id
  }

  // Storage

  #cacheName(id) { return `larder:${this.#options.name}:${id}` }
  #cache(id) { return caches.open(this.#cacheName(id)) }

  #isUsed({live, previous, pins}, id) {
    return id === live || id === previous || Object.values(pins).some((pin) => pin.id === id)
  }

  /** Removes unused caches. Without locks, another tab may be filling one: then only those that this call replaced. */
  async #prune(state, next, dropped = []) {
    const prefix = this.#cacheName("")
    const ids = (await caches.keys()).filter((name) => name.startsWith(prefix)).map((name) => name.slice(prefix.length))
    for (const id of this.#locks ? ids : dropped) {
      if (id === next || this.#isUsed(state, id)) continue
      await caches.delete(this.#cacheName(id))
      await this.#change((_, records) => records.delete(id))
      this.#releases.delete(id)
    }
  }

  /** Replaces a file of a release that the browser has lost. */
  async #heal(id, url) {
    const {files} = await this.#release(id)
    const answer = await this.#getVerified(url, files[url], this.#options.maxBytes)
    await (await this.#cache(id)).put(url, stored(answer, answer.body))
    return stored(answer, answer.body)
  }

  /** The record of a release: its files with their digests. */
  async #release(id) {
    if (id && !this.#releases.has(id)) this.#releases.set(id, await this.#transaction("readonly", id))
    return this.#releases.get(id)
  }

  #state() { return this.#change() }

  /** Forgets the ETag, so that the whole manifest is sent. */
  async #forget() {
    await this.#change((state) => { state.etag = null })
    return true
  }

  /** Reads the state and changes it, in one transaction. Without a change, returns the state. */
  #change(change) { return this.#transaction(change ? "readwrite" : "readonly", "state", change) }

  async #transaction(mode, key, change) {
    this.#database ??= new Promise((resolve, reject) => {
      const request = indexedDB.open(`larder:${this.#options.name}`)
      request.onupgradeneeded = () => request.result.createObjectStore("records")
      request.onerror = () => reject(request.error)
      request.onsuccess = () => {
        request.result.onclose = request.result.onversionchange = () => {
          request.result.close()
          this.#database = undefined
        }
        resolve(request.result)
      }
    })
    const database = await this.#database
    return new Promise((resolve, reject) => {
      // The release must be on the disk before the one before it is removed.
      const transaction = database.transaction("records", mode, {durability: "strict"})
      const records = transaction.objectStore("records")
      const request = records.get(key)
      let result
      request.onsuccess = () => {
        result = request.result
        if (key === "state") result ??= {live: null, previous: null, isConfirmed: true, attempt: null, failed: [], pins: {}}
        if (!change) return
        try {
          const state = result
          result = change(state, records)
          records.put(state, key)
        } catch (error) {
          transaction.abort()
          reject(error)
        }
      }
      transaction.oncomplete = () => resolve(result)
      transaction.onabort = () => reject(transaction.error ?? new Error("the browser could not store the state"))
    })
  }

  /** Adds a report for the update server that announced a release. It stays until the server has it. */
  #addReport(state, release, outcome) {
    const device = new URL(this.#manifest).searchParams.get("device")
    if (!device || !release?.update) return
    state.reports = [...state.reports ?? [], {device, update: release.update, state: outcome}].slice(-10)
  }

  async #sendReports() {
    const {reports = []} = await this.#state()
    for (const report of reports) {
      // Text needs no permission (CORS) of a server at another origin.
      const init = {method: "POST", keepalive: true, credentials: "omit", body: JSON.stringify(report)}
      const response = await fetch(new URL("report", this.#manifest).href, init).catch(() => {})
      if (!response || response.status === 429 || response.status >= 500) return
      await this.#change((state) => {
        state.reports = state.reports.filter((one) => one.update !== report.update || one.state !== report.state)
      })
    }
  }

  async #report(facts) {
    if (facts.outcome === "started" || facts.outcome === "fellBack") this.#sendReports().catch(() => {})
    let live = {}
    try {
      live = await this.status()
    } catch {
      // The report says why.
    }
    const report = {app: this.#options.name, release: live.live ?? null, version: live.version, ...facts}
    const {onReport, reportURL} = this.#options
    onReport?.(report)
    if (reportURL) {
      const headers = {"Content-Type": "application/json"}
      fetch(reportURL, {method: "POST", keepalive: true, headers, body: JSON.stringify(report)}).catch(() => {})
    }
    return report
  }
}

/** Varying headers do not matter: the digest says which body is meant. */
const MATCHING = {ignoreVary: true}

/** The response as it is stored: decoded, without a redirect, and complete. */
function stored({headers}, body) {
  const kept = new Headers(headers)
  for (const name of ["Content-Encoding", "Content-Length", "Vary"]) kept.delete(name)
  // Protects the server from pages among its files; the app has another origin.
  if (kept.get("Content-Security-Policy") === "sandbox") kept.delete("Content-Security-Policy")
  return new Response(body, {headers: kept})
}

/** The files of one release. A page that uses one release object never sees files of another release. */
class Release {
  #record; #cache; #heal

  constructor(record, cache, heal) {
    this.#record = record
    this.#cache = cache
    this.#heal = heal
    this.id = record.id
    this.version = record.version
  }

  /** The URLs of the files. */
  get urls() { return Object.keys(this.#record.files) }

  /** The full URL of a file; undefined if the release does not have it. Pages may have a query, or be a folder. */
  find(url, isPage = true) {
    if (url === undefined || !URL.canParse(url, this.#record.root)) return undefined
    const target = new URL(url, this.#record.root)
    target.hash = ""
    const names = [target.href]
    target.search = ""
    if (isPage) names.push(target.href, target.href + "index.html")
    return names.find((name, index) => this.#record.files[name] && (index < 2 || target.pathname.endsWith("/")))
  }

  /** The response for a URL, absolute or relative to the base of the release. A file that was lost is fetched and verified. */
  async response(url, range) {
    const name = this.find(url)
    if (!name) throw new Error(`the release has no file ${url}`)
    const response = await this.#cache.match(name, MATCHING) ?? await this.#heal(name)
    response.headers.set("Server-Timing", `${TIMING};desc="${this.id}"`)
    const [, first, last] = /^bytes=(\d+)-(\d*)$/.exec(range ?? "") ?? []
    if (!first) return response
    // Media players ask for parts.
    const body = await response.blob()
    const end = Math.min(last ? Number(last) + 1 : body.size, body.size)
    response.headers.set("Content-Range", `bytes ${first}-${end - 1}/${body.size}`)
    return new Response(body.slice(Number(first), end), {status: 206, headers: response.headers})
  }
}

/** Makes the previous release live. */
function fallBack(state) {
  state.failed = [...state.failed, state.live].slice(-10)
  Object.assign(state, {live: state.previous, previous: null, isConfirmed: true, attempt: null})
  return true
}

/** The digests of the strongest algorithm in an integrity attribute: one of them must match. */
function strongest(text) {
  const found = [...text.matchAll(/(?:^|\s)sha(256|384|512)-([\w+/-]+)/gi)]
  const size = Math.max(...found.map(([, bits]) => Number(bits)))
  if (!found.length) return undefined
  const digests = found.filter(([, bits]) => Number(bits) === size)
    .map(([, , code]) => hex(fromBase64(code.replaceAll("-", "+").replaceAll("_", "/"))))
  return {algorithm: `SHA-${size}`, digests}
}

/** The sign of the difference of two versions; 0 if they are the same or have no order. As in Semantic Versioning, 11. */
function orderOfVersions(one, two) {
  const compare = (a, b) => {
    const areNumbers = [a, b].map((part) => /^\d+$/.test(part))
    if (areNumbers[0] && areNumbers[1]) return Math.sign(Number(a) - Number(b))
    return areNumbers[0] !== areNumbers[1] ? areNumbers[1] - areNumbers[0] : a < b ? -1 : Number(a > b)
  }
  const compareAll = (a, b, missing) => {
    for (let index = 0; index < Math.max(a.length, b.length); index++) {
      if (missing === undefined && (index >= a.length || index >= b.length)) return Math.sign(a.length - b.length)
      const order = compare(a[index] ?? missing, b[index] ?? missing)
      if (order) return order
    }
    return 0
  }
  const parse = (text) => {
    if (/^\d{4}([-.]\d{1,2}){2}([-.:T ]\d+)*Z?$/.test(text)) return [text.match(/\d+/g), [], "date"]
    const parts = /^v?(\d+(?:\.\d+)*)(?:-([\w.-]+))?(?:\+.*)?$/i.exec(text)
    // A long number is a time or a counter, and only has an order among those with as many digits.
    return parts && [parts[1].split("."), parts[2]?.split(".") ?? [], /^\d{8,}$/.test(text) ? text.length : "release"]
  }
  const [first, second] = [parse(one ?? ""), parse(two ?? "")]
  if (!first || !second || first[2] !== second[2]) return 0
  const order = compareAll(first[0], second[0], "0")
  if (order || !first[1].length !== !second[1].length) return order || second[1].length - first[1].length
  return compareAll(first[1], second[1])
}

/** Verifies a signature in the format of minisign, and returns the key and the time of its trusted comment. */
async function verifyMinisign(bytes, text, keys, name, verify) {
  const lines = text.trimEnd().split(/\r?\n/)
  const decode = (line, length) => {
    const decoded = /^[\w+/=]+$/.test(line) ? fromBase64(line) : []
    return decoded.length === length ? decoded : refuse(`${line} is not a key or signature of minisign`)
  }
  const prefix = "trusted comment: "
  if (lines.length !== 4 || !lines[2].startsWith(prefix)) refuse("the signature is not one of minisign")
  const signature = decode(lines[1], 74)
  const id = hex(signature.subarray(2, 10))
  const key = keys.find((key) => hex(decode(key, 42).subarray(2, 10)) === id)
  if (!key) refuse("the manifest is signed by a key that is not trusted")
  const comment = lines[2].slice(prefix.length)
  const file = /(?:^|\t)file:([^\t]*)/.exec(comment)?.[1]
  if (file !== undefined && file !== name) refuse(`the signature is for the file ${file}, not for ${name}`)
  const algorithm = String.fromCharCode(...signature.subarray(0, 2))
  if (!/^ed$/i.test(algorithm)) refuse("the signature is not one of Ed25519")
  const raw = decode(key, 42).subarray(10)
  const signed = signature.subarray(10)
  const withComment = new Uint8Array([...signed, ...new TextEncoder().encode(comment)])
  const isRight = await verify(raw, signed, algorithm === "ED" ? blake2b(bytes) : bytes)
    && await verify(raw, decode(lines[3], 64), withComment)
  if (!isRight) refuse("the signature does not match: the manifest was changed after it was signed")
  const time = /(?:^|\t)timestamp:(\d+)/.exec(comment)?.[1]
  return {signer: key, time: time && Number(time) * 1000}
}

async function verifyEd25519(key, signature, message) {
  let imported
  try {
    imported = await crypto.subtle.importKey("raw", key, "Ed25519", false, ["verify"])
  } catch {
    refuse("this browser cannot verify signatures: its WebCrypto has no Ed25519; update it, or pass a function as ed25519")
  }
  return crypto.subtle.verify("Ed25519", imported, signature, message)
}

/** BLAKE2b with 64 bytes (RFC 7693), which minisign signs. A word of 64 bits is two of 32 bits here, the low one first. */
function blake2b(data) {
  // The initial words, and the order in which the ten rounds use the words of a block (2.6 and 2.7).
  const initial = Uint32Array.of(
    0xf3bcc908, 0x6a09e667, 0x84caa73b, 0xbb67ae85, 0xfe94f82b, 0x3c6ef372, 0x5f1d36f1, 0xa54ff53a,
    0xade682d1, 0x510e527f, 0x2b3e6c1f, 0x9b05688c, 0xfb41bd6b, 0x1f83d9ab, 0x137e2179, 0x5be0cd19)
  const order =
    "0123456789abcdefea489fd61c02b753b8c052fdae3671947931dcbe265a40f8905724afe1bc683d" +
    "2c6a0b834d75fe19c51fed4a0763928bdb7ec13950f4862a6fe9b308c2d714a5a2847615fb9e3cd0"
  const hash = initial.slice()
  const v = new Uint32Array(32)
  hash[0] ^= 0x01010040
  const add = (to, low, high) => {
    const sum = v[to] + low
    v[to] = sum
    v[to + 1] += high + (sum > 0xffffffff ? 1 : 0)
  }
  const mix = (to, from, bits) => {
    let [low, high] = [v[to] ^ v[from], v[to + 1] ^ v[from + 1]]
    if (bits >= 32) [low, high] = [high, low]
    const turn = bits % 32
    v[to] = turn ? low >>> turn | high << (32 - turn) : low
    v[to + 1] = turn ? high >>> turn | low << (32 - turn) : high
  }
  for (let start = 0; start === 0 || start < data.length; start += 128) {
    const block = new Uint8Array(128)
    block.set(data.subarray(start, start + 128))
    const words = new DataView(block.buffer)
    const end = Math.min(start + 128, data.length)
    v.set(hash)
    v.set(initial, 16)
    v[24] ^= end
    if (end === data.length) for (const index of [28, 29]) v[index] = ~v[index]
    for (let step = 0; step < 96; step++) {
      // The columns, then the diagonals.
      const [lane, shift] = [step % 4, step % 8 < 4 ? 0 : 1]
      const [a, b, c, d] = [0, 1, 2, 3].map((row) => 2 * (4 * row + (lane + row * shift) % 4))
      for (const half of [0, 1]) {
        const word = 8 * parseInt(order[(step * 2 + half) % 160], 16)
        add(a, v[b], v[b + 1])
        add(a, words.getUint32(word, true), words.getUint32(word + 4, true))
        mix(d, a, half ? 16 : 32)
        add(c, v[d], v[d + 1])
        mix(b, c, half ? 63 : 24)
      }
    }
    for (let index = 0; index < 16; index++) hash[index] ^= v[index] ^ v[index + 16]
  }
  return new Uint8Array(hash.buffer)
}
