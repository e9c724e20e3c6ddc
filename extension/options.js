// The page that pairs the extension with a portal.

import {pair, pairing, unpair, usualPortal} from "./larder.js"

const [pairForm, unpairForm] = [document.getElementById("pair"), document.getElementById("unpair")]
const [portal, code] = [document.getElementById("portal"), document.getElementById("code")]
const state = document.getElementById("state")

async function showState() {
  const paired = await pairing()
  portal.value = paired?.portal ?? usualPortal
  pairForm.hidden = paired !== null
  unpairForm.hidden = paired === null
  state.textContent = paired ? `Paired with ${paired.portal}` : ""
}

pairForm.addEventListener("submit", async (event) => {
  event.preventDefault()
  try {
    await pair(portal.value, code.value)
    code.value = ""
    await showState()
  } catch (error) {
    state.textContent = error.message
  }
})

unpairForm.addEventListener("submit", async (event) => {
  event.preventDefault()
  await unpair()
  await showState()
})

showState()
