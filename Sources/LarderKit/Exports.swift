// A value has one type in the whole house: these are the rooms' own.
@_exported public import struct Crawl.CrawlLimits
@_exported public import struct Crawl.CrawlReport
@_exported public import struct Crawl.ScopeOptions
@_exported public import struct Crawl.SitePlan
@_exported public import enum Serve.Verification
@_exported public import enum Web.CachePolicy
@_exported public import enum Web.NofollowPolicy
@_exported public import enum Web.RobotsPolicy
@_exported public import enum Web.SiteExtent
