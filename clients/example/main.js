import {updates} from "./updates.js"

const say = (id, text) => { document.getElementById(id).textContent = text }

navigator.serviceWorker.register("worker.js", {type: "module"})
// The page has loaded and works: the release of this page is confirmed.
if (await updates.started()) say("version", (await updates.status()).version)

document.getElementById("reload").onclick = () => location.reload()
document.getElementById("back").onclick = async () => {
  await updates.fallBack("the user asked for it")
  location.reload()
}

const report = await updates.update()
say("report", `${report.outcome}: ${report.reason ?? `${report.fetched} files fetched, ${report.reused} reused`}`)
