/// Everything that the portal says, in each of its languages: `both` has them side by side. `%1` stands for
/// what is known only when it is said.
package enum Sentence: String, Sendable, CaseIterable {
    // The frame
    case sites, scripts, search, proxy, work, room, skip, youAreHere, footer, asJSON, toSites, logout
    // Who may
    case login, password, doLogin, refused, refusedReadOnly, refusedOrigin, refusedToken, refusedLogin
    case refusedPassword, loginWrong, loginTooFast
    // What is wrong with a form
    case mistakeWord, mistakeScheme, mistakeCredentials, mistakeSite, mistakeVisit
    case mistakeEmpty, mistakeAddress, mistakeNumber, mistakeChoice, mistakeSize, mistakeMany
    case mistakeForm, mistakeNoFile, mistakeRoom, mistakeLost
    // Orders
    case jobPrefetch, jobUpdateAll, jobUpdate, jobFetch, jobCheck, jobPin, jobUnpin, jobDrop, jobRollBack
    case jobRemove, jobForecast, jobCollect, jobSettle, jobExport, jobExportVisit, jobImport
    case workNow, workNone, workOver, newPrefetch
    case stateWaiting, statePlanned, stateRunning, stateStopping, stateDone, stateLacking, stateStopped
    case stateUndone, stateFailed, stateInterrupted
    case doPrefetch, doUpdateAll, doUpdate, doFetch, doCheck, doPin, doUnpin, doDrop, doServe, doRemove
    case doForecast, doCollect, doSettle, doStop, doUndo, doGoOn, doExport, doImport, doDownload, doForget
    // Figures
    case figurePages, figureQueuedPages, figureFiles, figureQueuedFiles, figureFailed, figureSize, figureSpeed
    case figureElapsed, figureLeft, host, hosts, hostRunning, hostQueued, hostRate, hostPause
    // What came of it
    case ended, endedPages, endedMissing, endedNotPublished, endedInterrupted, endedSkipped, endedLimit
    case checkClean, checkFailed, checkItem, pinned, pinnedBefore, unpinned, dropped, nowServed, removed
    case exported, exportDamaged, exportMissing, imported, importRefused, importGrown
    case loaded, collected, wouldCollect, wouldDrop, wouldEvict, settled, quoted, lost
    // The form of a prefetch
    case formAddress, formAddressHint, formMore, formScope, scopeHost, scopePath, scopeDomain, formRender
    case renderAuto, renderNever, renderAlways, formDepth, formDepthHint, formPages, formNoLimitHint,
        formBytes
    case formBytesHint, formRobots, robotsObey, robotsIgnore, formPerHost, formPerHostHint, formInclude
    case formIncludeHint, formExclude, formExcludeHint
    // Earlier visits by a number or a day
    case pastWord, pastAddress, pastVisit, pastRoot
    // By itself
    case formEvery, formEveryHint, everyNever, everyHour, everySix, everyDay, everyWeek, everyOther,
        nextUpdate
    // Archives
    case exportTitle, exportLead, exportForm, exportServed, exportPrivate, formZIP, formWACZ, formWARC,
        formHAR
    case formZIM, formHTML, importTitle, importLead, importFile, importSite, importSiteHint, importBase
    case importBaseHint
    // The home page, and a site
    case homeLead, oneSite, manySites, searchHeld, openOriginal, openBehind, doOpen, lookInside, homeEmpty
    case homeStock, homeTerminal, homeAgain, searchSite, openCopy, whatIsMissing, byTitle, settings
    case pagesAndFiles, nothingBelow, moreOfFolder, byHost, moreHosts, mediaTypes, ofTheFirst, mediaType
    case responses, noneGiven, visits, visit, begun, state, orders, compareVisits, howItLooked, served
    case loadedOver, notFinished, kept, visitNumber, missingCount, complete, stateServed, stateNotLooked
    case fullStop, notComplete, stateBegun, stateNotFinished, empty, stateNever, orMore, about, goneAtOrigin
    case missing, notLookedAt, leftOut
    // The room, titles and settings
    case roomLead, roomMap, roomOthers, roomTable, roomCollect, roomCollectLead, roomLimit, roomLimitHint,
        site
    case titlesLead, titlesNone, more, settingsLead, pageOrders, tooLarge
    // Folders, details, changes, pictures, scripts, what is missing, the search
    case nothingHere, onlyOneVisit, tooLargeToCompare, noVisit, tooLargeHelp, noPictures, notHeldBadge
    case heldNearby, openOrigin, damaged, damagedWords, overVisits, headers, notHeld, linkedFrom
    case neededNotHeld, nothingMissing, askedNotHeld, noMisses, nextPrefetch, goneSaid, maybeMore
    case scriptsLead, tooLargeDigest, moreScripts, searchAll, results, lookFurther, compareButton
    case noPageAt, openWhole, isNowAt, moreOfThem, trafficStop, trafficGoOn, didYouMean, indexDoes
    case notComputed, doesIt, askOnce, soThatNoted, notHeldWords, ownPage, redirect, goneStatus
    case statusIs, inSite, comma, oneAddress, manyAddresses, moreThan, colon, offlineReason, status
    case kind, mediaTypeLong, fetched, firstAsked, readAs, keptIn, sha256, md5, redirectBehind, kindFile
    case kindPage, fetchedIn, oneByte, manyBytes, none, forVariant, linksTo, needsThese, noMoreLinkers
    case noMoreSoFar, noLinkers, noLinkersSoFar, changesTitle, noDifference, added, changed, gone, moved
    case nameAndCount, allOf, fromVisit, toVisit, picturesTitle, notSeenBefore, theSame, notTakenAgain
    case visitCaption, lookedInVisit, whatDiffers, blackWhereSame, noScript, noneSoFar, times, time
    case missWords, file, askedBy, neededBy, linkedBy, walkedOver, leftOutOne, leftOutMany
    case linkedNotHeld, requisiteNotHeld, byAllLinks, bySomeLinks, nothingByThese, andOther, andOthers
    case andMore, searchFor, searchLabel, searchLabelSite, unreadOne, unreadMany, moreResults, oneResult
    case manyResults, relaxed, theBest, justThese, nothingMore, nothingFound, nothingSoFar, theLast
    case maybeMoreThan, nothingHereTitle
    // The bar on mirrored pages
    case barName, barHide, barFrom, barEarlier, barLater, barAbout, barTitle, barLead, barIsOn, barIsOff
    case doBarOn, doBarOff
    // What passes through a proxy
    case trafficLead, trafficTrust, trafficLabel, trafficNone, trafficNoneLike, trafficKept, fromLarder
    case fromValidated, fromNetwork, fromMissed, fromTunnel

    var both: (String, String) {
        switch self {
        case .sites: ("Sites", "站点")
        case .scripts: ("Scripts", "脚本")
        case .search: ("Search", "搜索")
        case .proxy: ("Proxy", "代理")
        case .work: ("Work", "任务")
        case .room: ("Room", "空间")
        case .skip: ("Skip to the content", "跳到正文")
        case .youAreHere: ("You are here", "当前位置")
        case .footer:
            (
                "Nothing here asks anything of the network but what you start yourself. For programs: ",
                "除了您自己启动的任务，这里不会访问网络。供程序使用："
            )
        case .asJSON: ("this page as JSON", "本页的 JSON")
        case .toSites: ("What the larder holds", "库中的内容")
        case .logout: ("Log out", "退出登录")

        case .login: ("Log in", "登录")
        case .password: ("Password", "密码")
        case .doLogin: ("Log in", "登录")
        case .pastWord:
            (
                "“%1” is neither the number of a visit nor a day: write it like /@7/https://example.com/ or /@2026-11-20/https://example.com/",
                "“%1”既不是访问编号也不是日期：请写成 /@7/https://example.com/ 或 /@2026-11-20/https://example.com/"
            )
        case .pastAddress:
            (
                "Behind the visit stands no address over http or https: write it like /@7/https://example.com/",
                "访问后面没有 http 或 https 地址：请写成 /@7/https://example.com/"
            )
        case .pastVisit: ("The larder has no visit “%1” that has %2.", "库中没有包含 %2 的访问“%1”。")
        case .pastRoot:
            (
                "Earlier visits are shown where each origin has a name of its own: not where a site is at the root.",
                "只有在每个来源都有自己的名称时才能展示更早的访问：站点位于根目录时不行。"
            )
        case .formEvery: ("Updated by itself", "自动更新")
        case .formEveryHint:
            (
                "By a server that was told to, or by a timer: larder schedule prints one.",
                "由设为定时更新的服务器或定时器执行：larder schedule 可生成定时器。"
            )
        case .everyNever: ("Never", "从不")
        case .everyHour: ("Every hour", "每小时")
        case .everySix: ("Every six hours", "每六小时")
        case .everyDay: ("Every day", "每天")
        case .everyWeek: ("Every week", "每周")
        case .everyOther: ("Every %1", "每 %1")
        case .nextUpdate: ("Next update", "下次更新")
        case .jobExport: ("Export %1 as %2", "将 %1 导出为 %2")
        case .jobExportVisit: ("Export visit %3 of %1 as %2", "将 %1 的第 %3 次访问导出为 %2")
        case .jobImport: ("Bring in %1", "导入 %1")
        case .mistakeForm:
            (
                "The form did not arrive whole, or is none of the portal's. Open the page again, then send it once more.",
                "表单未完整送达，或不是门户的表单。请重新打开页面后再次提交。"
            )
        case .mistakeNoFile: ("No file was chosen, or it is empty: choose one.", "未选择文件，或文件为空：请选择一个文件。")
        case .mistakeRoom:
            (
                "The disk has no room for it: free some, or use a larder on another disk.",
                "磁盘空间不足：请释放空间，或使用其他磁盘上的库。"
            )
        case .mistakeLost:
            ("The file is not there any more: hand it in again.", "文件已不存在：请重新提交。")
        case .doExport: ("Export", "导出")
        case .doImport: ("Bring in", "导入")
        case .doDownload: ("Download", "下载")
        case .doForget: ("Delete the file", "删除文件")
        case .exported: ("%1 responses, %2 in the file.", "%1 个响应，文件大小 %2。")
        case .exportDamaged:
            ("%1 bodies are damaged and left out: fetch them again.", "%1 个内容已损坏并被略去：请重新获取。")
        case .exportMissing: ("%1 of what the page needs are not held.", "页面所需的 %1 项未被收录。")
        case .imported:
            ("%1: %2 responses, %3 of them pages, %4.", "%1：%2 个响应，其中 %3 个网页，共 %4。")
        case .importRefused: ("%1 were refused.", "%1 项被拒绝。")
        case .importGrown:
            (
                "What grows so much was most likely made to fill disks. Who knows better takes it in by the command: larder help import",
                "如此膨胀的内容很可能是为塞满磁盘而制作的。若确定无误，请用命令导入：larder help import"
            )
        case .exportTitle: ("Export", "导出")
        case .exportLead:
            (
                "The site as it is held, in one file to keep or to pass on. The work goes on by itself; the file can be downloaded there for seven days.",
                "将所收录的站点存为一个文件，以便保存或转交。任务会自行进行；文件可在任务页下载，保留七天。"
            )
        case .exportForm: ("Form", "格式")
        case .exportServed: ("What is served now", "当前提供的内容")
        case .exportPrivate:
            (
                "What was fetched with a login stays out, and so do cookies.",
                "登录后获取的内容和 Cookie 不会被导出。"
            )
        case .formZIP: ("ZIP: files that a browser opens", "ZIP：浏览器可直接打开的文件")
        case .formWACZ: ("WACZ: for ReplayWeb.page and archives", "WACZ：用于 ReplayWeb.page 和存档")
        case .formWARC: ("WARC: for archives", "WARC：用于存档")
        case .formHAR: ("HAR: for developer tools", "HAR：用于开发者工具")
        case .formZIM: ("ZIM: for Kiwix", "ZIM：用于 Kiwix")
        case .formHTML: ("HTML: the first page alone, in one file", "HTML：仅首页，单个文件")
        case .importTitle: ("Bring in an archive", "导入存档")
        case .importLead:
            (
                "A file that another program saved becomes a visit of a site here: WARC, WACZ, HAR, ZIM, MHTML, a saved page, or a folder in a ZIP or TAR.",
                "其他程序保存的文件将成为此处某站点的一次访问：WARC、WACZ、HAR、ZIM、MHTML、保存的网页，或 ZIP、TAR 中的文件夹。"
            )
        case .importFile: ("File", "文件")
        case .importSite: ("Site", "站点")
        case .importSiteHint:
            (
                "That gets the visit, by its address. Empty: the first page in the file.",
                "接收此次访问的站点地址。留空则取文件中的第一个网页。"
            )
        case .importBase: ("Where it stood", "原来的地址")
        case .importBaseHint:
            (
                "Of folders and saved pages that do not say so themselves: https://example.com/docs/",
                "文件夹或保存的网页未注明来源时填写：https://example.com/docs/"
            )
        case .barName: ("Larder: about this copy", "Larder：关于此副本")
        case .barHide: ("Hide the bar until the next page", "隐藏此栏，直到下一页")
        case .barFrom: ("As of ", "截至 ")
        case .barEarlier: ("Earlier", "更早")
        case .barLater: ("Later", "更新")
        case .barAbout: ("All visits", "所有访问")
        case .barTitle: ("A bar on pages", "网页上的信息栏")
        case .barLead:
            (
                "A bar at the foot of each page that the larder shows: from when the page is, its other visits, a search, and the way back here. The page cannot read it, and no copy is changed by it.",
                "在库所展示的每个网页底部显示信息栏：网页的时间、其他访问、搜索，以及返回此处的链接。网页无法读取它，副本也不会因它而改变。"
            )
        case .barIsOn: ("Pages have a bar", "网页带有信息栏")
        case .barIsOff: ("Pages are shown without", "网页不带信息栏")
        case .doBarOn: ("Show the bar", "显示信息栏")
        case .doBarOff: ("Show no bar", "不显示信息栏")
        case .refused: ("Nothing was changed", "没有任何更改")
        case .refusedReadOnly:
            (
                "This server only shows what is held: whoever started it said so, or may not write to the larder.",
                "此服务器只供查看：启动者如此指定，或对库没有写权限。"
            )
        case .refusedOrigin:
            (
                "The order came from a page that is not the portal's own. Open the portal and give it there.",
                "该请求并非来自门户自己的页面。请打开门户并在那里操作。"
            )
        case .refusedToken:
            (
                "The page was of an earlier run of the server. Load it again, and give the order once more.",
                "该页面属于服务器之前的一次运行。请重新加载页面后再操作。"
            )
        case .refusedLogin: ("Log in first: other machines need the password.", "请先登录：其他机器需要密码。")
        case .refusedPassword:
            (
                "Other machines reach this server, and no password is set: nothing can be changed. On the server's machine, run:",
                "其他机器可以访问此服务器，但尚未设置密码，因此不能更改任何内容。请在服务器上运行："
            )
        case .loginWrong: ("That is not the password.", "密码不正确。")
        case .loginTooFast:
            ("Too many were wrong: try again in %1 seconds.", "错误次数过多：请在 %1 秒后重试。")

        case .mistakeEmpty: ("Something was left empty: go back, and fill it in.", "有未填写的内容：请返回填写。")
        case .mistakeAddress:
            (
                "“%1” is no address of a page: write it like https://example.com/",
                "“%1”不是网页地址：请写成 https://example.com/ 的形式"
            )
        case .mistakeWord:
            (
                "“%1” is a word, not an address: write it like https://example.com/, or in full as %2",
                "“%1”只是一个词，不是地址：请写成 https://example.com/ 的形式，或写完整：%2"
            )
        case .mistakeScheme:
            (
                "“%1” cannot be fetched: only http and https can. Write it like https://example.com/",
                "无法获取“%1”：只支持 http 和 https。请写成 https://example.com/ 的形式"
            )
        case .mistakeCredentials:
            (
                "The address of %1 has a user name or a password in it: leave them out, nothing may keep them.",
                "%1 的地址中含有用户名或密码：请去掉，它们不应被保存。"
            )
        case .mistakeSite:
            (
                "The larder does not hold a site “%1”: it may have been removed meanwhile.",
                "库中没有站点“%1”：可能已被移除。"
            )
        case .mistakeVisit:
            (
                "“%1” has no visit %2: it may have been dropped meanwhile.",
                "“%1”没有第 %2 次访问：可能已被删除。"
            )
        case .mistakeNumber: ("“%1” should be a number from %2 to %3.", "“%1”应为 %2 到 %3 之间的数字。")
        case .mistakeChoice: ("“%1” is none of the choices.", "“%1”不在可选项之中。")
        case .mistakeSize:
            ("“%1” is no size: write it like 500M, 2G or 1.5GiB.", "“%1”不是大小：请写成 500M、2G 或 1.5GiB。")
        case .mistakeMany:
            ("Too much waits already: let some of it end first.", "等待的任务过多：请先等一些任务结束。")

        case .jobPrefetch: ("Prefetch %1", "预取 %1")
        case .jobUpdateAll: ("Update all sites", "更新所有站点")
        case .jobUpdate: ("Update %1", "更新 %1")
        case .jobFetch: ("Fetch %1", "获取 %1")
        case .jobCheck: ("Check %1", "检查 %1")
        case .jobPin: ("Pin %1", "固定 %1")
        case .jobUnpin: ("Unpin %1", "取消固定 %1")
        case .jobDrop: ("Drop visit %1 of %2", "删除 %2 的第 %1 次访问")
        case .jobRollBack: ("Serve visit %1 of %2", "展示 %2 的第 %1 次访问")
        case .jobRemove: ("Remove %1", "移除 %1")
        case .jobForecast: ("See what a collection would take", "预览清理")
        case .jobCollect: ("Make room", "清理空间")
        case .jobSettle: ("Change the settings of %1", "更改 %1 的设置")

        case .workNow: ("Under way", "进行中")
        case .workNone: ("Nothing is being done.", "当前没有任务。")
        case .workOver: ("Ended", "已结束")
        case .newPrefetch: ("Stock a site", "收存一个站点")
        case .stateWaiting: ("Waits for its turn", "排队中")
        case .statePlanned: ("Begins in a few seconds", "几秒后开始")
        case .stateRunning: ("Running", "运行中")
        case .stateStopping: ("Stopping", "正在停止")
        case .stateDone: ("Done", "完成")
        case .stateLacking: ("Done, something is missing", "完成，但有缺失")
        case .stateStopped: ("Stopped", "已停止")
        case .stateUndone: ("Undone", "已撤销")
        case .stateFailed: ("Failed", "失败")
        case .stateInterrupted: ("Interrupted, as the server ended", "已中断（服务器已停止）")

        case .doPrefetch: ("Prefetch", "预取")
        case .doUpdateAll: ("Update all sites", "更新所有站点")
        case .doUpdate: ("Update", "更新")
        case .doFetch: ("Fetch now", "立即获取")
        case .doCheck: ("Check it", "检查")
        case .doPin: ("Pin", "固定")
        case .doUnpin: ("Unpin", "取消固定")
        case .doDrop: ("Drop", "删除")
        case .doServe: ("Serve this one", "展示此次")
        case .doRemove: ("Remove", "移除")
        case .doForecast: ("Preview", "预览")
        case .doCollect: ("Make room now", "立即清理")
        case .doSettle: ("Save", "保存")
        case .doStop: ("Stop", "停止")
        case .doUndo: ("Undo", "撤销")
        case .doGoOn: ("Go on", "继续")

        case .figurePages: ("Pages", "网页")
        case .figureQueuedPages: ("Pages to come", "待取网页")
        case .figureFiles: ("Files they need", "所需文件")
        case .figureQueuedFiles: ("Files to come", "待取文件")
        case .figureFailed: ("Failed", "失败")
        case .figureSize: ("Size", "大小")
        case .figureSpeed: ("Speed", "速度")
        case .figureElapsed: ("Elapsed", "已用时间")
        case .figureLeft: ("Remaining", "剩余时间")
        case .host: ("Host", "主机")
        case .hosts: ("Hosts", "主机")
        case .hostRunning: ("Running", "进行中")
        case .hostQueued: ("Queued", "排队")
        case .hostRate: ("A second", "每秒")
        case .hostPause: ("Paused", "暂停")

        case .ended: ("%1", "%1")
        case .endedPages:
            ("%1 pages and %2 files, %3 over the network, in %4", "%1 个网页和 %2 个文件，经网络传输 %3，用时 %4")
        case .endedMissing: ("%1 could not be had", "%1 个未能取得")
        case .endedNotPublished:
            ("The visit is not served: the last good one is.", "此次访问未展示：仍展示上一次完好的访问。")
        case .lost:
            ("The server does not answer any more; it is asked again and again.", "服务器已没有响应，正在不断重试。")
        case .endedInterrupted:
            ("It was stopped; what it has is kept, and it can go on.", "已停止；已取得的内容会保留，可以继续。")
        case .endedSkipped: ("%1 addresses were left out by settings", "有 %1 个地址因设置而未取")
        case .endedLimit: ("A limit ended it: %1", "因限制而结束：%1")
        case .checkClean:
            ("Everything that its pages need is there: %1 checked.", "网页所需的一切都在：共检查 %1 项。")
        case .checkFailed: ("%1 of %2 are not as they should be.", "%2 项中有 %1 项不正常。")
        case .checkItem: ("%1: %2", "%1：%2")
        case .pinned: ("Pinned: %1 addresses, %2", "已固定：%1 个地址，%2")
        case .pinnedBefore: ("It was pinned before.", "之前已固定。")
        case .unpinned: ("It is not pinned any more.", "已取消固定。")
        case .dropped: ("Visit %1 is dropped.", "第 %1 次访问已删除。")
        case .nowServed: ("Visit %1 is served from now on.", "从现在起展示第 %1 次访问。")
        case .removed: ("%1 is removed.", "%1 已移除。")
        case .loaded: ("The server answered %1: %2", "服务器回答 %1：%2")
        case .collected: ("%1 before, %2 now; %3 bodies went.", "之前 %1，现在 %2；清除了 %3 份内容。")
        case .wouldCollect: ("%1 now, %2 afterwards.", "现在 %1，之后 %2。")
        case .wouldDrop: ("Would drop visit %1 of %2", "将删除 %2 的第 %1 次访问")
        case .wouldEvict: ("Would no longer hold %1", "将不再保有 %1")
        case .settled: ("The settings are saved; the next update follows them.", "设置已保存，下次更新时生效。")
        case .quoted: ("%1", "%1")

        case .formAddress: ("Address", "地址")
        case .formAddressHint:
            (
                "The page where it starts, such as https://example.com/docs/",
                "起始网页，例如 https://example.com/docs/"
            )
        case .formMore: ("How far, and how", "范围与方式")
        case .formScope: ("Which pages", "哪些网页")
        case .scopeHost: ("those of its host", "同一主机的")
        case .scopePath: ("those in its folder", "同一文件夹的")
        case .scopeDomain: ("those of its domain", "同一域名的")
        case .formRender: ("Show pages in a browser", "用浏览器渲染")
        case .renderAuto: ("where their scripts need it", "脚本需要时")
        case .renderNever: ("never", "从不")
        case .renderAlways: ("each page", "每个网页")
        case .formDepth: ("Links away from the start", "离起始页的链接数")
        case .formDepthHint: ("Empty for any number; 0 for the page alone", "留空为不限；0 为仅此一页")
        case .formPages: ("At most so many pages", "最多网页数")
        case .formNoLimitHint: ("Empty for no limit", "留空为不限")
        case .formBytes: ("At most so much over the network", "最多传输量")
        case .formBytesHint: ("Such as 500M; empty for no limit", "例如 500M；留空为不限")
        case .formRobots: ("robots.txt", "robots.txt")
        case .robotsObey: ("is obeyed", "遵守")
        case .robotsIgnore: ("is ignored", "忽略")
        case .formPerHost: ("Connections to a host", "每主机连接数")
        case .formPerHostHint: ("1 to 64; empty for 16", "1 到 64；留空为 16")
        case .formInclude: ("Pages beside, by their patterns", "另外包含的网页（模式）")
        case .formIncludeHint:
            ("A pattern a line: /blog/**, docs.example.com", "每行一个模式：/blog/**、docs.example.com")
        case .formExclude: ("Never asked for, by their patterns", "从不获取的（模式）")
        case .formExcludeHint: ("A pattern a line: *.pdf, /private/**", "每行一个模式：*.pdf、/private/**")

        case .homeLead: ("%1 on the shelf, %2.", "架上有%1，%2。")
        case .oneSite: ("%1 site", "%1 个站点")
        case .manySites: ("%1 sites", "%1 个站点")
        case .searchHeld: ("Search what is held", "搜索库中内容")
        case .openOriginal: ("Open an original address", "打开原始地址")
        case .openBehind: ("Put it behind the larder’s own: ", "把它接在库地址之后：")
        case .doOpen: ("Open", "打开")
        case .lookInside: ("Look inside", "查看详情")
        case .homeEmpty: ("The shelves are empty.", "架上还没有内容。")
        case .homeStock: ("Stock it while you are online", "趁在线时收存")
        case .homeTerminal:
            (
                "In a terminal the same is done so; everything that its pages need comes with it:",
                "在终端中也可以这样做，网页所需的一切都会一并取来："
            )
        case .homeAgain: ("Then load this page again.", "然后重新加载本页。")
        case .searchSite: ("Search this site", "搜索此站点")
        case .openCopy: ("Open the copy", "打开副本")
        case .whatIsMissing: ("What is missing", "缺少什么")
        case .byTitle: ("By title", "按标题")
        case .settings: ("Settings", "设置")
        case .pagesAndFiles: ("Pages and files", "网页与文件")
        case .nothingBelow: ("Nothing is held below the start address.", "起始地址之下没有内容。")
        case .moreOfFolder: ("More of this folder", "此文件夹的更多内容")
        case .byHost: ("By host", "按主机")
        case .moreHosts: ("More hosts", "更多主机")
        case .mediaTypes: ("Media types", "媒体类型")
        case .ofTheFirst: ("Of the first %1 responses of the visit.", "取自此次访问的前 %1 个响应。")
        case .mediaType: ("Type", "类型")
        case .responses: ("Responses", "响应")
        case .noneGiven: ("none given", "未注明")
        case .visits: ("Visits", "访问")
        case .visit: ("Visit", "访问")
        case .begun: ("Begun", "开始时间")
        case .state: ("State", "状态")
        case .orders: ("Do", "操作")
        case .compareVisits: ("Compare two visits", "比较两次访问")
        case .howItLooked: ("How its pages looked", "网页的外观")
        case .served: ("Served", "展示中")
        case .loadedOver: (" Loaded by a server, over visit %1", " 由服务器载入，叠加于第 %1 次访问")
        case .notFinished: ("Not finished", "未完成")
        case .kept: ("Kept", "保留")
        case .visitNumber: ("visit %1", "第 %1 次访问")
        case .missingCount: ("%1 missing", "缺少 %1 项")
        case .complete: ("Complete", "完整")
        case .stateServed: (" Visit %1 is served, fetched ", " 展示第 %1 次访问，获取于")
        case .stateNotLooked:
            (". Whether anything is missing was not looked at.", "。尚未检查是否有缺失。")
        case .fullStop: (".", "。")
        case .notComplete: ("Not complete", "不完整")
        case .stateBegun: (" Visit %1, begun ", " 第 %1 次访问，开始于")
        case .stateNotFinished:
            (", is not finished. What it has so far is served.", "，尚未完成。现展示已取得的部分。")
        case .empty: ("Empty", "空")
        case .stateNever: (" It was never visited.", " 从未访问过。")
        case .orMore: ("%1 or more", "%1 或更多")
        case .about: ("about %1", "约 %1")
        case .goneAtOrigin: ("Gone at the origin", "源站已无")
        case .missing: ("Missing", "缺少")
        case .notLookedAt: ("not looked at", "未检查")
        case .leftOut: ("Left out by settings", "因设置未取")

        case .roomLead:
            (
                "The larder takes %1 on the disk. The map has the bodies of the visits that are served, by site and media type.",
                "库占用磁盘 %1。图中为所展示访问的内容，按站点和媒体类型划分。"
            )
        case .roomMap: ("Which site takes how much room", "各站点所占空间")
        case .roomOthers: ("others", "其他")
        case .roomTable: ("By site", "按站点")
        case .roomCollect: ("Make room", "清理空间")
        case .roomCollectLead:
            (
                "What nothing refers to any more goes; with a limit also visits that are not served, and what was not used for longest. What is pinned stays.",
                "清除不再被引用的内容；设有上限时，还会清除未展示的访问和最久未用的内容。固定的内容会保留。"
            )
        case .roomLimit: ("At most so much", "上限")
        case .roomLimitHint: ("Such as 2G; empty for no limit", "例如 2G；留空为不限")
        case .site: ("Site", "站点")
        case .titlesLead: ("Its pages, by their titles.", "按标题排列的网页。")
        case .titlesNone: ("No page has a title.", "没有带标题的网页。")
        case .more: ("More", "更多")
        case .settingsLead:
            ("How it is prefetched, from its next update on.", "从下次更新起的预取方式。")
        case .tooLarge: ("There are too many to be sorted here.", "数量过多，无法在此排序。")
        case .pageOrders: ("This page", "此网页")

        case .nothingHere: ("Nothing is held here.", "这里没有内容。")
        case .onlyOneVisit:
            (
                "There is only one visit. Prefetch the site again to have something to compare.",
                "只有一次访问。再次预取该站点后才能比较。"
            )
        case .tooLargeToCompare:
            ("These visits are too large to be compared here. In a terminal:", "这些访问过大，无法在此比较。请在终端中运行：")
        case .noVisit: ("There is no visit yet.", "还没有访问。")
        case .tooLargeHelp:
            (
                "These visits are too large to be compared here. How a terminal tells the same, says:",
                "这些访问过大，无法在此比较。终端中的做法见："
            )
        case .noPictures:
            ("No picture of its pages was kept. How a prefetch keeps them, says:", "没有保存网页图像。预取时如何保存，见：")
        case .notHeldBadge: ("Not held", "未收存")
        case .heldNearby: ("Held nearby", "附近收存的内容")
        case .openOrigin: ("Open at the origin", "在源站打开")
        case .damaged: ("Damaged", "已损坏")
        case .damagedWords: (" Its bytes are gone or cut short; prefetch it again.", " 其字节已丢失或不完整，请重新预取。")
        case .overVisits: ("Over the visits", "历次访问")
        case .headers: ("Headers", "响应头")
        case .notHeld: ("not held", "未收存")
        case .linkedFrom: ("Linked from", "链接来源")
        case .neededNotHeld: ("Needed and not held", "需要但未收存")
        case .nothingMissing: ("Nothing is missing.", "没有缺失。")
        case .askedNotHeld: ("Asked for here and not held", "曾在此请求但未收存")
        case .noMisses: ("Nothing that was asked of this larder was missing.", "对本库的请求没有缺失。")
        case .nextPrefetch:
            (
                "The next prefetch of the site fetches them, unless they were sent something.",
                "下次预取该站点时会获取它们，除非曾向其发送内容。"
            )
        case .goneSaid: ("The origin itself said so in the visit that is served.", "源站在所展示的访问中如此表示。")
        case .maybeMore: ("There may be more.", "可能还有更多。")
        case .scriptsLead:
            (
                "Each with the digests that a manifest would name. To check them against one: ",
                "附有清单中会写明的摘要。与清单核对："
            )
        case .tooLargeDigest: ("too large to be computed here", "过大，无法在此计算")
        case .moreScripts: ("More scripts", "更多脚本")
        case .searchAll: ("Search all sites", "搜索所有站点")
        case .results: ("Results", "结果")
        case .lookFurther: ("Look further", "继续查找")
        case .compareButton: ("Compare", "比较")
        case .noPageAt: ("The portal has no page at ", "门户没有此页面：")
        case .openWhole:
            (". To open an original address, put it whole behind the larder’s own:", "。要打开原始地址，请把它整个接在库地址之后：")
        case .isNowAt: ("is now at", "现位于")
        case .moreOfThem: ("More of them", "更多")
        case .trafficStop: ("Stop here", "停在此处")
        case .trafficGoOn: ("Go on as it passes", "实时显示")
        case .didYouMean: ("Did you mean ", "您是否要找 ")
        case .indexDoes: (" does that.", " 可完成。")
        case .notComputed: ("not computed for so large a body: ", "内容过大，未计算：")
        case .doesIt: (" does it", " 可以计算")
        case .askOnce: ("ask for it once", "请求一次")
        case .soThatNoted: (", so that it is noted, and run", "，以便记录，然后运行")
        case .notHeldWords: (" The larder has nothing of this address. To have it", " 库中没有此地址的内容。要取得它")
        case .ownPage: ("(this folder’s own page)", "（此文件夹自身的网页）")
        case .redirect: ("redirect", "重定向")
        case .goneStatus: ("gone at the origin (%1)", "源站已无（%1）")
        case .statusIs: ("status %1", "状态 %1")
        case .inSite: ("in %1", "位于 %1")
        case .comma: (", ", "，")
        case .oneAddress: ("%1 address", "%1 个地址")
        case .manyAddresses: ("%1 addresses", "%1 个地址")
        case .moreThan: ("more than %1", "超过 %1")
        case .colon: (":", "：")
        case .offlineReason: ("Offline, %1: ", "离线时，%1：")
        case .status: ("Status", "状态码")
        case .kind: ("Kind", "类别")
        case .mediaTypeLong: ("Media type", "媒体类型")
        case .fetched: ("Fetched", "获取于")
        case .firstAsked: ("First asked for by", "首次请求者")
        case .readAs: ("Read as", "解析为")
        case .keptIn: ("Kept in", "保存于")
        case .sha256: ("SHA-256", "SHA-256")
        case .md5: ("MD5", "MD5")
        case .redirectBehind: ("%1, a redirect", "%1，重定向")
        case .kindFile: ("file that pages need", "网页所需文件")
        case .kindPage: ("page", "网页")
        case .fetchedIn: (" (%1), visit %2 of ", "（%1），第 %2 次访问，")
        case .oneByte: ("%1 byte", "%1 字节")
        case .manyBytes: ("%1 bytes", "%1 字节")
        case .none: ("none", "无")
        case .forVariant: (" for ", " 针对 ")
        case .linksTo: ("Links to: %1", "链接到：%1")
        case .needsThese: ("Needs: %1", "需要：%1")
        case .noMoreLinkers: ("Nothing more was found.", "没有更多结果。")
        case .noMoreSoFar: ("Nothing more was found, so far.", "目前没有更多结果。")
        case .noLinkers: ("Nothing that is held links here.", "库中没有内容链接到这里。")
        case .noLinkersSoFar: ("Nothing that is held links here, so far.", "目前没有发现链接到这里的内容。")
        case .changesTitle: ("Changes between visits", "访问之间的变化")
        case .noDifference: ("Visit %1 shows just what visit %2 did.", "第 %1 次访问与第 %2 次完全相同。")
        case .added: ("Added", "新增")
        case .changed: ("Changed", "变更")
        case .gone: ("Gone", "消失")
        case .moved: ("Moved", "移动")
        case .nameAndCount: ("%1: %2", "%1：%2")
        case .allOf: ("All %1", "全部 %1 项")
        case .fromVisit: ("From visit", "从访问")
        case .toVisit: ("To visit", "到访问")
        case .picturesTitle: ("How pages looked", "网页的外观")
        case .notSeenBefore: ("Not seen before", "首次出现")
        case .theSame: ("The same", "相同")
        case .notTakenAgain: ("Not taken again", "未重新拍摄")
        case .visitCaption: ("Visit %1", "第 %1 次访问")
        case .lookedInVisit: ("How it looked in visit %1", "在第 %1 次访问中的外观")
        case .whatDiffers: ("What differs", "差异")
        case .blackWhereSame: ("Black where both are the same", "相同处为黑色")
        case .noScript: ("No script is held.", "没有收存脚本。")
        case .noneSoFar: ("None so far.", "目前没有。")
        case .times: ("%1 times", "%1 次")
        case .time: ("%1 time", "%1 次")
        case .missWords: ("%1%2, %3, last ", "%1%2，%3，最近")
        case .file: ("file", "文件")
        case .askedBy: ("Asked for by ", "请求者：")
        case .neededBy: ("Needed by ", "需要者：")
        case .linkedBy: ("Linked from ", "链接自：")
        case .walkedOver: ("By a walk from the start over %1.", "从起始页走查了%1。")
        case .leftOutOne:
            (
                "%1 page more was left out by settings: limits, robots.txt, traps.",
                "另有 %1 个网页因设置而未取：限制、robots.txt、陷阱。"
            )
        case .leftOutMany:
            (
                "%1 pages more were left out by settings: limits, robots.txt, traps.",
                "另有 %1 个网页因设置而未取：限制、robots.txt、陷阱。"
            )
        case .linkedNotHeld: ("Linked to and not held", "有链接但未收存")
        case .requisiteNotHeld: ("Needed by pages and not held", "网页需要但未收存")
        case .byAllLinks: ("By the links of all %1 pages and files.", "根据全部 %1 个网页与文件的链接。")
        case .bySomeLinks:
            ("By the links of %1 pages and files that were looked through.", "根据已查看的 %1 个网页与文件的链接。")
        case .nothingByThese: ("Nothing is missing by these; others were not looked at.", "据此没有缺失，其余尚未查看。")
        case .andOther: (" and %1 other", " 及另外 %1 个")
        case .andOthers: (" and %1 others", " 及另外 %1 个")
        case .andMore: ("And %1 more.", "还有 %1 项。")
        case .searchFor: ("Search: %1", "搜索：%1")
        case .searchLabel: ("Words of a page, its title or its address", "网页的词语、标题或地址")
        case .searchLabelSite: ("Words of a page of this site, its title or its address", "此站点网页的词语、标题或地址")
        case .unreadOne: ("The words of %1 page are not read yet: ", "尚有 %1 个网页的文字未读取：")
        case .unreadMany: ("The words of %1 pages are not read yet: ", "尚有 %1 个网页的文字未读取：")
        case .moreResults: ("More results", "更多结果")
        case .oneResult: ("%1 result", "%1 个结果")
        case .manyResults: ("%1 results", "%1 个结果")
        case .relaxed: ("Nothing has all of these words. %1 with some of them.", "没有包含全部词语的内容。包含部分词语的有%1。")
        case .theBest: ("The best %1.", "最佳的%1。")
        case .justThese: ("%1.", "%1。")
        case .nothingMore: ("Nothing more was found.", "没有更多结果。")
        case .nothingFound: ("Nothing was found.", "没有找到。")
        case .nothingSoFar: ("Nothing was found so far.", "目前没有找到。")
        case .theLast: ("The last %1.", "最后的%1。")
        case .maybeMoreThan: ("%1, and there may be more.", "%1，可能还有更多。")
        case .nothingHereTitle: ("Nothing here", "这里什么也没有")

        case .trafficLead: ("%1. Programs use it by ", "%1。程序的使用方法：")
        case .trafficTrust:
            (
                " and the same for https_proxy; larder ca says how they come to trust it.",
                "，https_proxy 亦同；如何使程序信任它，见 larder ca。"
            )
        case .trafficLabel: ("Method, address, status or source", "方法、地址、状态码或来源")
        case .trafficNone: ("Nothing has passed so far.", "尚无请求经过。")
        case .trafficNoneLike: ("Nothing that passed is like that.", "没有符合的请求。")
        case .trafficKept: ("kept", "已保存")
        case .fromLarder: ("from the larder", "来自库中")
        case .fromValidated: ("confirmed", "经确认")
        case .fromNetwork: ("loaded", "已载入")
        case .fromMissed: ("missed", "未命中")
        case .fromTunnel: ("untouched", "直通")
        }
    }
}
