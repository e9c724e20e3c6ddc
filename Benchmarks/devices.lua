-- wrk: asks the update server for an update, each time as another device.
--   wrk ... -s devices.lua URL -- manifest|expo DEVICES; ends with one line of figures.

local started = 0

function setup(thread)
    thread:set("number", started)
    started = started + 1
end

function init(arguments)
    kind, count = arguments[1], tonumber(arguments[2])
    position = number * 7919
    fields = {
        ["expo-protocol-version"] = "1", ["expo-platform"] = "ios", ["expo-runtime-version"] = "1.0",
        ["accept"] = "multipart/mixed",
    }
end

function request()
    position = (position + 1) % count
    local device = "device-" .. position
    if kind == "manifest" then return wrk.format("GET", "/-/updates/shop/manifest?device=" .. device) end
    fields["eas-client-id"] = device
    return wrk.format("GET", "/-/updates/mobile/expo", fields)
end

function done(summary, latency, all)
    local errors = summary.errors
    print(string.format(
        "figures %d %d %.1f %.1f %d",
        summary.requests, summary.duration, latency:percentile(50), latency:percentile(99),
        errors.connect + errors.read + errors.write + errors.status + errors.timeout))
end
