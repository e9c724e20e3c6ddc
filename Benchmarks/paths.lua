-- wrk: asks for the paths named in a file, in turn; with a third argument, each time by a query that nobody used before.
--   wrk ... -s paths.lua URL -- PATHS-FILE HOST [RUN]; ends with one line of figures.

local started = 0

function setup(thread)
    thread:set("number", started)
    started = started + 1
end

function init(arguments)
    paths = {}
    for path in io.lines(arguments[1]) do paths[#paths + 1] = path end
    host, run = arguments[2], arguments[3]
    -- Threads start at different places of the list.
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
