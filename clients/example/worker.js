import {updates} from "./updates.js"

addEventListener("install", () => skipWaiting())
updates.serve()
