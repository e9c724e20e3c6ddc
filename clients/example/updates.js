import {LarderUpdates} from "./larder-updates.js"

/** The same options in the page and in the service worker. */
export const updates = new LarderUpdates({
  name: "example",
  manifest: new URL("manifest.json", import.meta.url).href,
  // With a key, only manifests that it has signed are accepted: keys: ["RW…"],
})
