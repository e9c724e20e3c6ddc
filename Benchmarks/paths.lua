-- A script for wrk that requests the paths in a file one after the other, and prints one line of figures at the end:
--   wrk ... -s paths.lua URL -- PATHS-FILE HOST [RUN]
-- With RUN, each request has another query, so that no cache has its response.

local started = 0

function setup(thread)
    thread:set("number", started)
    started = started + 1
end

function init(arguments)
    paths = {}
    for path in io.lines(arguments[1]) do paths[#paths + 1] = path end
    host, run = arguments[2], arguments[3]
    -- Each thread starts at another place in the list.
    position = number * 7919
    requests = {}
    for index, path in ipairs(paths) do requests[index] = wrk.format("GET", path, { Host = host }) end
end

function request()
    position = position + 1
    local index = position % #paths + 1
    if not run then return requests[index] end
    local path = paths[index] .. "?n=" .. run .. "-" .. number .. "-" .. position
    return wrk.format("GET", path, { Host = host })
end

function done(summary, latency, all)
    local errors = summary.errors
    print(string.format(
        "figures %d %d %d %.1f %.1f %d",
        summary.requests, summary.duration, summary.bytes, latency:percentile(50), latency:percentile(99),
        errors.connect + errors.read + errors.write + errors.status + errors.timeout))
end
