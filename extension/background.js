// The button in the toolbar: saves the current tab.

import {NotPaired, pair, pairing, save} from "./larder.js"

chrome.action.onClicked.addListener(saveTab)

async function saveTab(tab) {
  await show(tab, "…", "Saving to Larder", "#555555")
  try {
    const answer = await save(tab)
    await show(tab, "✓", `Saved to Larder: ${answer.title ?? answer.url}`, "#2f7d5b")
    return answer
  } catch (error) {
    await show(tab, "!", `Not saved: ${error.message}`, "#a4262c")
    if (error instanceof NotPaired) await chrome.runtime.openOptionsPage()
    return {error: error.message}
  }
}

/** The badge and the tooltip of the button, for this tab until it shows another page. */
async function show(tab, text, title, color) {
  const tabId = tab.id
  try {
    await chrome.action.setBadgeBackgroundColor({tabId, color})
    await chrome.action.setBadgeText({tabId, text})
    await chrome.action.setTitle({tabId, title})
  } catch {
    // The tab was closed meanwhile.
  }
}

// For browser automation, which cannot press a button in the toolbar. Web pages cannot send messages to this service worker.
Object.assign(globalThis, {pair, pairing, saveTab})
