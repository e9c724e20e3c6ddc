-- wrk: asks for the paths named in a file, in turn; ends with one line of figures.
--   wrk ... -s serve.lua URL -- PATHS-FILE HOST

local started = 0

function setup(thread)
    thread:set("number", started)
    started = started + 1
end

function init(arguments)
    requests = {}
    for path in io.lines(arguments[1]) do
        requests[#requests + 1] = wrk.format("GET", path, { Host = arguments[2] })
    end
    -- Threads start at different places of the list.
    position = number * 7919
end

function request()
    position = position + 1
    return requests[position % #requests + 1]
end

function done(summary, latency, all)
    local errors = summary.errors
    print(string.format(
        "figures %d %d %d %.1f %.1f %d",
        summary.requests, summary.duration, summary.bytes, latency:percentile(50), latency:percentile(99),
        errors.connect + errors.read + errors.write + errors.status + errors.timeout))
end
