extension Sentence {
    /// The text in each language, in the order of the cases.
    ///
    /// This is one `switch` so that a case without a text does not compile. The English text is the reference: a
    /// translation has the same placeholders, in any order.
    package var translations: (english: String, chinese: String) {
        switch self {
        // The frame of every page
        case .sites: ("Sites", "站点")
        case .scripts: ("Scripts", "脚本")
        case .search: ("Search", "搜索")
        case .proxy: ("Proxy", "代理")
        case .activity: ("Activity", "任务")
        case .storage: ("Storage", "存储")
        case .skipToContent: ("Skip to content", "跳到正文")
        case .breadcrumb: ("Breadcrumb", "当前位置")
        case .footer:
            (
                "The server makes network requests only for actions that you start or schedule. For programs: ",
                "服务器仅为您启动或安排的操作访问网络。供程序读取："
            )
        case .asJSON: ("this page as JSON", "本页的 JSON 版本")
        case .allSites: ("All sites", "所有站点")
        case .logout: ("Log out", "退出登录")
        case .fullStop: (".", "。")

        // Parts of sentences
        case .comma: (", ", "，")
        case .and: (" and ", "和")
        case .questionMark: ("?", "？")
        case .withNote: ("%1 (%2)", "%1（%2）")
        case .nameAndCount: ("%1: %2", "%1：%2")
        case .oneTime: ("%1 time", "%1 次")
        case .manyTimes: ("%1 times", "%1 次")
        case .oneAddress: ("%1 URL", "%1 个网址")
        case .manyAddresses: ("%1 URLs", "%1 个网址")
        case .oneByte: ("%1 byte", "%1 字节")
        case .manyBytes: ("%1 bytes", "%1 字节")
        case .moreThan: ("more than %1", "超过 %1")
        case .orMore: ("%1 or more", "至少 %1")
        case .approximately: ("about %1", "约 %1")
        case .andMore: ("And %1 more.", "还有 %1 项。")
        case .more: ("More", "更多")
        case .showMore: ("Show more", "显示更多")

        // Access
        case .login: ("Log in", "登录")
        case .password: ("Password", "密码")
        case .doLogin: ("Log in", "登录")
        case .loginWrong: ("Wrong password.", "密码不正确。")
        case .loginTooManyAttempts: ("Too many attempts. Try again in %1 s.", "尝试次数过多。请在 %1 秒后重试。")
        case .refused: ("Nothing was changed", "未做任何更改")
        case .refusedReadOnly:
            (
                "This portal is read-only: the server was started that way, or it cannot write to the store.",
                "管理页面为只读：服务器以只读方式启动，或无法写入存储库。"
            )
        case .refusedOrigin:
            (
                "The request did not come from a page of this portal. Open the portal and try again there.",
                "请求并非来自管理页面。请打开管理页面后重试。"
            )
        case .refusedToken:
            (
                "This page has expired, for example because the server was restarted. Reload it and try again.",
                "此页面已过期，可能是因为服务器重新启动过。请重新加载后重试。"
            )
        case .refusedLogin:
            ("Log in first: requests from other machines require the password.", "请先登录：从其他设备访问需要密码。")
        case .refusedPassword:
            (
                "Other machines can reach this server, but no password is set. On the server’s machine, run:",
                "其他设备可以访问此服务器，但尚未设置密码。请在服务器所在的设备上运行："
            )
        case .refusedOtherMachine:
            (
                "Only a browser on the server’s machine can do that. Open the portal there.",
                "只有服务器所在设备上的浏览器才能执行此操作。请在该设备上操作。"
            )

        // Mistakes in forms
        case .mistakeMissingField: ("A required field is missing. Go back and fill it in.", "缺少必填项。请返回填写。")
        case .mistakeURL:
            ("“%1” is not a URL. Example: https://example.com/", "“%1”不是网址。示例：https://example.com/")
        case .mistakeWordForURL:
            (
                "“%1” is a word, not a URL. Write it like https://example.com/, or in full as %2",
                "“%1”只是一个词，不是网址。请写成 https://example.com/ 的形式，或写出完整网址：%2"
            )
        case .mistakeScheme:
            (
                "“%1” cannot be fetched: only http and https are supported. Example: https://example.com/",
                "无法获取“%1”：只支持 http 和 https。示例：https://example.com/"
            )
        case .mistakeCredentials:
            (
                "The URL for %1 contains a user name or password. Remove them, since URLs are stored.",
                "%1 的网址中含有用户名或密码。网址会被存储，请将其去掉。"
            )
        case .mistakeSite: ("The store has no site “%1”. It may have been removed.", "存储库中没有站点“%1”，可能已被删除。")
        case .mistakeSnapshot: ("“%1” has no snapshot %2. It may have been removed.", "“%1”没有快照 %2，可能已被删除。")
        case .mistakeNumber:
            (
                "“%1” is not valid. Enter a whole number from %2 to %3.",
                "“%1”无效，请输入 %2 到 %3 之间的整数。"
            )
        case .mistakeChoice: ("“%1” is not a valid choice.", "“%1”不是有效的选项。")
        case .mistakeSize:
            ("“%1” is not a size. Examples: 500M, 2G, 1.5GiB.", "“%1”不是有效的大小。示例：500M、2G、1.5GiB。")
        case .mistakeTooManyJobs: ("Too many tasks are waiting. Try again later.", "等待的任务过多，请稍后再试。")
        case .mistakeForm:
            (
                "The form was incomplete or invalid. Reload the page and submit it again.",
                "表单不完整或无效。请重新加载页面后再次提交。"
            )
        case .mistakeNoFile:
            ("No file was chosen, or the file is empty. Choose a file.", "未选择文件，或文件为空。请选择一个文件。")
        case .mistakeNoDiskSpace:
            (
                "Not enough disk space. Free some space, or use a store on another disk.",
                "磁盘空间不足。请释放空间，或使用其他磁盘上的存储库。"
            )
        case .mistakePageTooLarge:
            ("The page is larger than 256 MB. Save a smaller page.", "网页超过 256 MB。请保存较小的网页。")

        // The page of jobs
        case .jobsInProgress: ("In progress", "进行中")
        case .noJobsInProgress: ("No tasks in progress.", "没有进行中的任务。")
        case .finishedJobs: ("Finished", "已结束")
        case .newSite: ("New site", "添加站点")
        case .connectionLost: ("Connection to the server lost. Reconnecting…", "与服务器的连接已断开，正在重新连接…")

        // Titles of jobs
        case .jobPrefetch: ("Prefetch %1", "预取 %1")
        case .jobSavePage: ("Save the page %1", "保存网页 %1")
        case .jobUpdateAll: ("Update all sites", "更新所有站点")
        case .jobUpdate: ("Update %1", "更新 %1")
        case .jobFetch: ("Fetch %1", "获取 %1")
        case .jobCheck: ("Check %1", "检查 %1")
        case .jobCheckLinks: ("Check the links of %1", "检查 %1 的链接")
        case .jobPin: ("Pin %1", "固定 %1")
        case .jobUnpin: ("Unpin %1", "取消固定 %1")
        case .jobRemoveSnapshot: ("Remove snapshot %1 of %2", "删除 %2 的快照 %1")
        case .jobMakeLive: ("Make snapshot %1 of %2 live", "将 %2 的快照 %1 设为当前快照")
        case .jobRemoveSite: ("Remove %1", "删除 %1")
        case .jobPreviewCleanup: ("Preview cleanup", "预览清理")
        case .jobCleanUp: ("Clean up", "清理")
        case .jobChangeSettings: ("Change the settings of %1", "更改 %1 的设置")
        case .jobExport: ("Export %1 as %2", "将 %1 导出为 %2")
        case .jobExportSnapshot: ("Export snapshot %3 of %1 as %2", "将 %1 的快照 %3 导出为 %2")
        case .jobImport: ("Import %1", "导入 %1")
        case .jobSaveFromBrowser: ("Save a page from the browser", "保存浏览器中的网页")
        case .jobInstallTimer: ("Install a systemd timer", "安装 systemd 定时器")

        // States of jobs
        case .stateWaiting: ("Queued", "排队中")
        case .statePlanned: ("Starts in a few seconds", "几秒后开始")
        case .stateRunning: ("Running", "进行中")
        case .stateStopping: ("Stopping", "正在停止")
        case .stateDone: ("Done", "已完成")
        case .stateDoneWithProblems: ("Done with problems", "已完成，但有问题")
        case .stateStopped: ("Stopped", "已停止")
        case .stateCancelled: ("Cancelled", "已取消")
        case .stateFailed: ("Failed", "失败")
        case .stateInterrupted: ("Interrupted because the server stopped", "已中断（服务器已停止）")

        // Buttons
        case .doPrefetch: ("Prefetch", "预取")
        case .doUpdateAll: ("Update all sites", "更新所有站点")
        case .doUpdate: ("Update", "更新")
        case .doFetch: ("Fetch now", "立即获取")
        case .doCheck: ("Check", "检查")
        case .doCheckLinks: ("Check links", "检查链接")
        case .doPin: ("Pin", "固定")
        case .doUnpin: ("Unpin", "取消固定")
        case .doRemoveSnapshot: ("Remove", "删除")
        case .doMakeLive: ("Make live", "设为当前")
        case .doRemoveSite: ("Remove site", "删除站点")
        case .doPreviewCleanup: ("Preview", "预览")
        case .doCleanUp: ("Clean up", "清理")
        case .doSaveSettings: ("Save", "保存")
        case .doStop: ("Stop", "停止")
        case .doCancel: ("Cancel", "取消")
        case .doRetry: ("Retry", "重试")
        case .doExport: ("Export", "导出")
        case .doImport: ("Import", "导入")
        case .doDownload: ("Download", "下载")
        case .doDeleteFile: ("Delete file", "删除文件")

        // Figures of a job
        case .figurePages: ("Pages", "网页")
        case .figureQueuedPages: ("Queued pages", "待获取网页")
        case .figureAssets: ("Assets", "资源")
        case .figureQueuedAssets: ("Queued assets", "待获取资源")
        case .figureFailed: ("Failed", "失败")
        case .figureSize: ("Size", "大小")
        case .figureSpeed: ("Speed", "速度")
        case .figureElapsed: ("Elapsed", "已用时间")
        case .figureRemaining: ("Remaining", "剩余时间")
        case .host: ("Host", "主机")
        case .hosts: ("Hosts", "主机")
        case .hostRunning: ("Running", "进行中")
        case .hostQueued: ("Queued", "排队")
        case .hostRate: ("Requests/s", "请求数/秒")
        case .hostPause: ("Paused", "暂停")

        // Outcomes of jobs
        case .endedPages: ("Pages: %1, assets: %2, downloaded: %3 in %4", "%1 个网页和 %2 个资源，下载 %3，用时 %4")
        case .endedFailed: ("Failed: %1", "获取失败：%1 项")
        case .endedNotPublished:
            ("The new snapshot did not go live. The previous one stays live.", "新快照未启用，当前快照保持不变。")
        case .endedInterrupted:
            ("Stopped. Finished work is saved; retry to continue.", "已停止。已完成的部分会保留，重试即可继续。")
        case .endedLimit: ("Stopped: %1", "已达到上限并停止。详细信息（英文）：%1")
        case .checkClean: ("No problems found. URLs checked: %1.", "未发现问题，共检查 %1 个网址。")
        case .checkFailed: ("%1 of %2 URLs have problems.", "%2 个网址中有 %1 个存在问题。")
        case .checkItem: ("%1: %2", "%1：%2")
        case .linksClean: ("No broken links found. Links checked: %1.", "未发现失效链接，共检查 %1 个链接。")
        case .linksBroken: ("%1 of %2 links are broken.", "%2 个链接中有 %1 个已失效。")
        case .pinned: ("Pinned: %1 URLs, %2", "已固定：%1 个网址，%2")
        case .pinnedBefore: ("Already pinned.", "此前已固定。")
        case .unpinned: ("Unpinned.", "已取消固定。")
        case .snapshotRemoved: ("Snapshot %1 was removed.", "快照 %1 已删除。")
        case .snapshotMadeLive: ("Snapshot %1 is live now.", "快照 %1 已设为当前快照。")
        case .siteRemoved: ("%1 was removed.", "%1 已删除。")
        case .fetchedStatus: ("Status %1, %2", "状态码 %1，%2")
        case .cleanedUp:
            (
                "%1 before, %2 after cleanup. Stored bodies removed: %3.",
                "清理前 %1，清理后 %2。已删除 %3 份存储的内容。"
            )
        case .cleanupPreview: ("%1 now, %2 after cleanup.", "现在 %1，清理后 %2。")
        case .wouldRemoveSnapshot: ("Would remove snapshot %1 of %2", "将删除 %2 的快照 %1")
        case .wouldRemoveURL: ("Would remove %1", "将删除 %1")
        case .settingsSaved: ("Settings saved. They apply from the next update.", "设置已保存，下次更新时生效。")
        case .exported: ("%1 responses, file size %2.", "%1 个响应，文件大小 %2。")
        case .exportDamaged:
            ("Damaged responses that were left out: %1. Fetch them again.", "已略过 %1 个损坏的响应，请重新获取。")
        case .exportMissing: ("Needed assets that are not stored: %1.", "网页所需的 %1 个资源未存储。")
        case .imported: ("%1: %2 responses, %3 of them pages, %4.", "%1：%2 个响应，其中 %3 个网页，共 %4。")
        case .importRefused: ("Responses that were not imported: %1.", "有 %1 个响应未导入。")
        case .importMayBeBomb:
            (
                "The archive unpacks to far more data than usual and may be a decompression bomb. If you trust it, import it with the command; see: larder help import",
                "该存档解压后的数据量异常大，可能是压缩炸弹。若确认可信，请用命令导入，参阅：larder help import"
            )
        case .savedPage: ("Saved %1: %2 responses, %3. Title: %4", "已保存 %1：%2 个响应，%3。标题：%4")
        case .saveLeftOut:
            (
                "Left out, because they belong to other stored sites: %1.",
                "已略过属于其他已存储站点的内容：%1 项。"
            )
        case .timerStarted: ("`%1` now updates due sites every 15 minutes.", "`%1` 现在每 15 分钟更新到期的站点。")
        case .timerNotStarted:
            (
                "`%1` is written, but systemd did not start it: %2. Start it with `%3`.",
                "已写入 `%1`，但 systemd 未能启动它：%2。请运行 `%3` 启动。"
            )
        case .timerNoSystemd: ("This machine has no systemd.", "此设备没有 systemd。")
        case .timerCron:
            (
                "To use cron instead, add this line with `crontab -e`: `%1`",
                "如需改用 cron，请用 `crontab -e` 添加此行：`%1`"
            )
        case .refusedTimer:
            (
                "Only the user of this machine can install a timer. Open the portal there, or see: `larder help schedule`",
                "只有服务器所在设备的用户可以安装定时器。请在该设备上打开管理页面，也可参阅：`larder help schedule`"
            )
        case .mistakeFileGone: ("The file no longer exists. Upload it again.", "文件已不存在。请重新上传。")
        case .untranslated: ("%1", "详细信息（英文）：%1")

        // The form of a prefetch and the settings of a site
        case .formWhat: ("What", "内容")
        case .whatSite: ("The site, within the options below", "站点（范围由下方选项决定）")
        case .whatPage: ("Only this page", "仅此网页")
        case .formAddress: ("URL", "网址")
        case .formAddressHint:
            ("The start page, for example https://example.com/docs/", "起始页，例如 https://example.com/docs/")
        case .formMore: ("Options", "选项")
        case .formScope: ("Scope", "范围")
        case .scopeHost: ("Same host", "同一主机")
        case .scopePath: ("Same folder", "同一文件夹")
        case .scopeDomain: ("Same domain", "同一域名")
        case .formRender: ("Render in a browser", "用浏览器渲染")
        case .renderAuto: ("When scripts need it", "脚本需要时")
        case .renderNever: ("Never", "从不")
        case .renderAlways: ("Every page", "每个网页")
        case .formDepth: ("Link depth", "链接深度")
        case .formDepthHint:
            ("0 fetches only the start page. Leave empty for no limit.", "0 表示仅获取起始页。留空表示不限。")
        case .formPages: ("Maximum pages", "网页数上限")
        case .formNoLimitHint: ("Leave empty for no limit.", "留空表示不限。")
        case .formBytes: ("Size limit", "大小上限")
        case .formBytesHint:
            ("Data to download, for example 500M. Leave empty for no limit.", "下载量，例如 500M。留空表示不限。")
        case .formRobots: ("robots.txt", "robots.txt")
        case .robotsObey: ("Obey", "遵守")
        case .robotsIgnore: ("Ignore", "忽略")
        case .formPerHost: ("Connections per host", "每个主机的连接数")
        case .formPerHostHint: ("1 to 64. Default: 16.", "1 到 64，默认 16。")
        case .formInclude: ("Also include", "额外包含")
        case .formIncludeHint:
            ("URL patterns, one per line: /blog/**, docs.example.com", "网址模式，每行一个：/blog/**、docs.example.com")
        case .formExclude: ("Exclude", "排除")
        case .formExcludeHint:
            ("URL patterns, one per line: *.pdf, /private/**", "网址模式，每行一个：*.pdf、/private/**")
        case .settingsLead: ("Changes apply from the next update.", "更改将在下次更新时生效。")

        // Automatic updates
        case .formEvery: ("Automatic updates", "自动更新")
        case .formEveryHint:
            (
                "Updates run while a server runs, or by a timer; see: `larder help schedule`",
                "更新在服务器运行期间进行，或由定时器执行，参阅：`larder help schedule`"
            )
        case .everyNever: ("Never", "从不")
        case .everyHour: ("Every hour", "每小时")
        case .everySix: ("Every six hours", "每 6 小时")
        case .everyDay: ("Every day", "每天")
        case .everyWeek: ("Every week", "每周")
        case .everyOther: ("Every %1", "每 %1")
        case .nextUpdate: ("Next update", "下次更新")
        case .nothingRunsSchedule:
            (
                "Nothing runs the scheduled updates: this server updates no sites, and no timer is installed.",
                "没有程序执行自动更新：此服务器不更新站点，也没有安装定时器。"
            )
        case .installTimerHint:
            (
                "A timer updates due sites every 15 minutes, also when no server runs.",
                "定时器每 15 分钟更新到期的站点，即使没有服务器在运行。"
            )
        case .doInstallTimer: ("Install a systemd timer", "安装 systemd 定时器")

        // Saving pages from the browser, and its extension
        case .addTitle: ("Save a page", "保存网页")
        case .addLead:
            (
                "Larder fetches the page itself, without your logins in this browser. Check the URL before you continue.",
                "Larder 会自行获取该网页，不使用您在此浏览器中的登录。请先核对网址。"
            )
        case .saveTitle: ("Save from the browser", "从浏览器保存")
        case .saveLead:
            (
                "Save the page that you are looking at, without copying its URL.",
                "无需复制网址，直接保存正在浏览的网页。"
            )
        case .saveBookmark: ("Save to Larder", "保存到 Larder")
        case .saveBookmarkHint:
            (
                "Drag this link to the bookmarks bar. On any page, the bookmark opens a form here that saves the page:",
                "将此链接拖到书签栏。在任意网页上点击该书签，即可打开此处的表单并保存网页："
            )
        case .extensionTitle: ("Browser extension", "浏览器扩展")
        case .extensionLead:
            (
                "The extension sends the page as you see it, also behind a login: its document with images, styles and fonts, but no cookies and no scripts.",
                "扩展会按您看到的样子发送网页，包括登录后的网页：文档及其图片、样式和字体，但不含 Cookie 和脚本。"
            )
        case .extensionInstall:
            (
                "In Chromium or Chrome, open `chrome://extensions`, switch on the developer mode, and load the folder `extension` of Larder as an unpacked extension. Then pair it here: its options ask for a code.",
                "在 Chromium 或 Chrome 中打开 `chrome://extensions`，启用开发者模式，将 Larder 的 `extension` 文件夹以“加载已解压的扩展程序”的方式加载。然后在此配对：扩展的选项页会要求输入配对码。"
            )
        case .pairCode: ("Code: ", "配对码：")
        case .pairCodeHint: (" It can be used once, within ten minutes.", " 十分钟内有效，仅可使用一次。")
        case .doPair: ("Pair an extension", "配对扩展")
        case .pairedTitle: ("Paired extensions", "已配对的扩展")
        case .doUnpair: ("Remove", "移除")
        case .pairCodeWrong:
            (
                "The code is wrong or not valid any more. Press “Pair an extension” in the portal for another one.",
                "配对码错误或已失效。请在管理页面中点击“配对扩展”，获取新的配对码。"
            )
        case .refusedPairing:
            (
                "This extension is not paired with this Larder. Pair it in its options.",
                "此扩展尚未与此 Larder 配对。请在扩展的选项页中配对。"
            )

        // Archives
        case .exportTitle: ("Export", "导出")
        case .exportLead:
            (
                "Writes the site to one archive file. The export runs in the background; download the file from Activity within seven days.",
                "将站点写入一个存档文件。导出在后台进行；请在七天内到“任务”页下载文件。"
            )
        case .exportFormat: ("Format", "格式")
        case .exportLive: ("Live snapshot", "当前快照")
        case .exportLeavesOutPrivate:
            (
                "Cookies and responses fetched while logged in are not exported.",
                "不会导出 Cookie 和登录后获取的响应。"
            )
        case .formatZIP: ("ZIP: unpack it and open it in any browser", "ZIP：解压后可用任意浏览器打开")
        case .formatWACZ: ("WACZ: for ReplayWeb.page and web archives", "WACZ：用于 ReplayWeb.page 和网页存档")
        case .formatWARC: ("WARC: for web archives", "WARC：用于网页存档")
        case .formatHAR: ("HAR: for developer tools", "HAR：用于开发者工具")
        case .formatZIM: ("ZIM: for Kiwix", "ZIM：用于 Kiwix")
        case .formatHTML: ("HTML: the start page only, as one file", "HTML：仅起始页，单个文件")
        case .importTitle: ("Import", "导入")
        case .importLead:
            (
                "Creates a snapshot of a site from a file that another program saved: WARC, WACZ, HAR, ZIM, MHTML, a saved page, or a folder in a ZIP or TAR file.",
                "用其他程序保存的文件为站点创建快照。支持 WARC、WACZ、HAR、ZIM、MHTML、保存的网页，以及打包为 ZIP 或 TAR 的文件夹。"
            )
        case .importFile: ("File", "文件")
        case .importSite: ("Site", "站点")
        case .importSiteHint:
            (
                "URL of the site to add the snapshot to. Leave empty to use the first page in the file.",
                "要添加快照的站点网址。留空则使用文件中的第一个网页。"
            )
        case .importBase: ("Original URL", "原始网址")
        case .importBaseHint:
            (
                "Only for folders and saved pages that do not contain it, for example https://example.com/docs/",
                "仅用于未记录原始网址的文件夹和网页，例如 https://example.com/docs/"
            )

        // The home page
        case .homeLead: ("%1, %2.", "%1，共 %2。")
        case .oneSite: ("%1 site", "%1 个站点")
        case .manySites: ("%1 sites", "%1 个站点")
        case .searchStoredPages: ("Search stored pages", "搜索已存储的网页")
        case .openOriginal: ("Open by original URL", "通过原始网址打开")
        case .openOriginalHint:
            (
                "To open a stored copy, append its original URL to the address of this server: ",
                "要打开存储的副本，请将原始网址接在此服务器地址之后："
            )
        case .doOpen: ("Open", "打开")
        case .addSite: ("+ Add site", "+ 添加站点")
        case .onePage: ("%1 page", "%1 个网页")
        case .manyPages: ("%1 pages", "%1 个网页")
        case .stateUpdating: ("Updating", "更新中")
        case .progress: ("Progress", "进度")
        case .continueReading: ("Continue reading", "继续阅读")
        case .randomPage: ("Random page", "随机网页")
        case .filterSites: ("Filter sites", "筛选站点")
        case .noMatchingSites: ("No site matches this filter.", "没有符合条件的站点。")
        case .tag: ("Tag", "标签")
        case .allTags: ("All tags", "所有标签")
        case .sortBy: ("Sort by", "排序")
        case .sortName: ("Name", "名称")
        case .sortNewest: ("Newest first", "最新的在前")
        case .sortOldest: ("Oldest first", "最旧的在前")
        case .sortLargest: ("Largest first", "最大的在前")
        case .doFilter: ("Apply", "应用")
        case .formTags: ("Tags", "标签")
        case .formTagsHint: ("Separated by commas, for example: work, manuals", "用英文逗号分隔，例如：work, manuals")
        case .formNote: ("Note", "备注")
        case .formNoteHint: ("A note for yourself, which the home page shows.", "写给自己的备注，会显示在主页上。")
        case .homeEmpty: ("No sites are stored yet.", "尚未存储任何站点。")
        case .homeNewSite: ("New site", "添加站点")
        case .homeInTerminal:
            ("Or in a terminal; the assets that the pages need are fetched too:", "也可以在终端中运行；网页所需的资源会一并获取：")
        case .homeReload: ("Then reload this page.", "然后重新加载本页。")

        // The sections of a site's page, and the links of ended jobs
        case .problems: ("Problems", "问题")
        case .allProblems: ("All problems", "所有问题")
        case .causeServerError: ("The server had an error", "服务器出错")
        case .causeRefused: ("The server refused the request", "服务器拒绝请求")
        case .causeNoAddress: ("The host was not found", "找不到主机")
        case .causeNotStored: ("Not fetched yet", "尚未获取")
        case .causePart: ("Only a part is stored", "只存储了一部分")
        case .causeOther: ("Other causes", "其他原因")
        case .responseCount: ("%1 responses", "%1 个响应")
        case .noChanges: ("No changes", "没有变化")
        case .addedCount: ("%1 added", "新增 %1")
        case .changedCount: ("%1 changed", "更改 %1")
        case .goneCount: ("%1 gone", "移除 %1")
        case .movedCount: ("%1 moved", "移动 %1")
        case .confirmedAt: ("Unchanged when checked ", "上次确认无变化：")
        case .advanced: ("Advanced", "高级")
        case .manifest: ("Manifest", "清单")
        case .trustedKeys: ("Trusted keys", "可信密钥")
        case .kindImages: ("Images", "图片")
        case .kindStyles: ("Style sheets", "样式表")
        case .kindFonts: ("Fonts", "字体")
        case .kindMedia: ("Audio and video", "音频和视频")
        case .kindDocuments: ("Documents", "文档")
        case .kindData: ("Data and text", "数据和文本")
        case .kindOther: ("Other", "其他")
        case .viewProblem: ("View %1 problem", "查看 %1 个问题")
        case .viewProblems: ("View %1 problems", "查看 %1 个问题")
        case .jobLog: ("Log", "日志")
        case .phaseFetching: ("Fetching", "正在获取")
        case .phaseStoring: ("Storing the last responses", "正在存储最后的响应")
        case .phaseIndexing: ("Indexing pages for the search", "正在为搜索建立索引")
        case .notifyOn: ("Notify me when a task ends", "任务结束时通知我")
        case .notifyOff: ("Turn notifications off", "关闭通知")

        // The comparison of a page in two snapshots
        case .compareTitle: ("Compare a page", "比较网页")
        case .textDifferences: ("Differences in the text", "文字差异")
        case .textNotComparable:
            (
                "The texts cannot be compared: one of them is missing, damaged or too large, or it has no text.",
                "无法比较文字：其中一个缺失、已损坏、过大，或没有文字。"
            )
        case .textUnchanged:
            (
                "The text is the same. Scripts, styles, links or images may differ.",
                "文字相同。脚本、样式、链接或图片可能不同。"
            )
        case .removedLine: ("Removed:", "已删除：")
        case .addedLine: ("Added:", "已新增：")
        case .equalLines: ("Equal lines: %1", "相同的行：%1")

        // The filters of the search
        case .anySite: ("All sites", "所有站点")
        case .facetType: ("Type", "类型")
        case .anyType: ("All types", "所有类型")
        case .typePages: ("Web pages", "网页")
        case .typePDF: ("PDF", "PDF")
        case .typeText: ("Plain text", "纯文本")
        case .facetAge: ("Fetched", "获取时间")
        case .anyAge: ("Any time", "不限")
        case .ageDay: ("Last 24 hours", "24 小时内")
        case .ageWeek: ("Last 7 days", "7 天内")
        case .ageMonth: ("Last 30 days", "30 天内")
        case .ageYear: ("Last year", "一年内")

        // Original URLs in the address of the portal, and the page for an unknown path
        case .snapshotWordInvalid:
            (
                "“%1” is neither a snapshot number nor a date. Examples: /@7/https://example.com/ and /@2026-11-20/https://example.com/",
                "“%1”既不是快照编号也不是日期。示例：/@7/https://example.com/ 和 /@2026-11-20/https://example.com/"
            )
        case .snapshotURLMissing:
            (
                "An http or https URL must follow the snapshot. Example: /@7/https://example.com/",
                "快照之后必须是 http 或 https 网址。示例：/@7/https://example.com/"
            )
        case .snapshotNotFound: ("No snapshot “%1” for %2.", "%2 没有快照“%1”。")
        case .snapshotsNotAtRoot:
            ("A server with a site at its root shows only the live snapshot.", "服务器在根路径提供站点时，只能展示当前快照。")
        case .notFoundTitle: ("Not found", "未找到")
        case .noPageAt: ("The portal has no page at ", "管理页面中没有此地址：")
        case .openByFullURL:
            (
                ". To open a stored copy, append its full original URL to the address of this server:",
                "。要打开存储的副本，请将完整的原始网址接在此服务器地址之后："
            )

        // A site
        case .searchSite: ("Search this site", "搜索此站点")
        case .missingURLs: ("Missing URLs", "缺失的网址")
        case .pagesByTitle: ("Pages by title", "按标题浏览")
        case .settings: ("Settings", "设置")
        case .pagesAndAssets: ("Pages and assets", "网页和资源")
        case .nothingBelowStart: ("Nothing is stored below the start URL.", "起始网址之下没有已存储的内容。")
        case .moreOfFolder: ("More in this folder", "此文件夹的更多内容")
        case .byHost: ("By host", "按主机")
        case .moreHosts: ("More hosts", "更多主机")
        case .mediaTypes: ("Media types", "媒体类型")
        case .basedOnFirstResponses: ("Based on the first %1 responses of the snapshot.", "根据快照的前 %1 个响应统计。")
        case .mediaType: ("Type", "类型")
        case .responses: ("Responses", "响应")
        case .notSpecified: ("not specified", "未注明")
        case .snapshots: ("Snapshots", "快照")
        case .snapshot: ("Snapshot", "快照")
        case .started: ("Started", "开始时间")
        case .state: ("State", "状态")
        case .actions: ("Actions", "操作")
        case .compareSnapshots: ("Compare snapshots", "比较快照")
        case .screenshots: ("Screenshots", "网页截图")
        case .liveBadge: ("Live", "当前")
        case .overlayOn: ("Overlay on snapshot %1", "叠加层，基于快照 %1")
        case .unfinished: ("Unfinished", "未完成")
        case .rejected: ("Rejected", "已拒绝")
        case .snapshotNumber: ("snapshot %1", "快照 %1")
        case .failedCount: ("%1 failed", "%1 项获取失败")
        case .complete: ("Complete", "完整")
        case .incomplete: ("Incomplete", "不完整")
        case .empty: ("Empty", "空")
        case .siteFetched: (" Snapshot %1, fetched ", " 快照 %1，")
        case .siteNotChecked: (". Not checked yet for missing URLs.", "获取。尚未检查是否有缺失。")
        case .siteChecked: (".", "获取。")
        case .siteStarted: (" Snapshot %1, started ", " 快照 %1，")
        case .siteUnfinished:
            (", is unfinished. The responses stored so far are served.", "开始获取，尚未完成。目前展示已存储的部分。")
        case .siteNeverPrefetched: (" Not prefetched yet.", " 尚未预取。")
        case .brokenOnLiveSite: ("Broken on the live site", "源站上已失效")
        case .failed: ("Failed", "获取失败")
        case .notFetched: ("Not fetched", "未获取")
        case .notCheckedYet: ("Not checked yet", "尚未检查")

        // The links of a site
        case .links: ("Links", "链接")
        case .linksNotChecked: ("The links of this site have not been checked yet.", "尚未检查此站点的链接。")
        case .linksChecked:
            (
                "%1 links on %2 pages and other documents of snapshot %3, checked ",
                "快照 %3 的 %2 个网页及其他文档中有 %1 个链接，检查时间："
            )
        case .linksCheckedOld: (". This snapshot is not live any more.", "。此快照已不是当前快照。")
        case .noBrokenLinks: ("No broken links.", "没有失效链接。")
        case .linkPlace: ("On ", "所在网页：")
        case .linkPlaceLine: (", line %1", "，第 %1 行")
        case .linkVerified: ("Verified", "正常")
        case .linkIgnored: ("Ignored", "已忽略")
        case .linkNotChecked: ("Not checked", "未检查")
        case .linkRedirected: ("Moved permanently", "已永久移动")
        case .linkMixedContent: ("Loaded by http on https pages", "https 网页通过 http 加载")
        case .linkBlocked: ("Could not tell: the server refuses programs", "无法判断：服务器拒绝程序访问")
        case .linkFailed: ("Could not tell: an error", "无法判断：出现错误")
        case .linkTimedOut: ("Timed out", "超时")
        case .linkFragmentMissing: ("Page without this fragment", "网页中没有此片段")
        case .linkDead: ("Dead", "已失效")

        // Storage
        case .storageLead:
            (
                "The store uses %1 of disk space. The map shows the live snapshots by site and media type.",
                "存储库占用 %1 磁盘空间。图中按站点和媒体类型显示当前快照。"
            )
        case .storageMap: ("Size of the live snapshots by site", "各站点当前快照的大小")
        case .storageTable: ("By site", "按站点")
        case .site: ("Site", "站点")
        case .cleanup: ("Cleanup", "清理")
        case .cleanupLead:
            (
                "Removes data that is no longer used. With a size limit, also removes snapshots that are not live, then overlays. Live snapshots and pinned content stay.",
                "删除不再使用的数据。设置大小上限后，还会依次删除非当前快照和叠加层。当前快照和已固定的内容会保留。"
            )
        case .cleanupLimit: ("Size limit", "大小上限")
        case .cleanupLimitHint: ("For example 2G. Leave empty for no limit.", "例如 2G。留空表示不限。")

        // Lists of titles and of folders
        case .titlesLead: ("All pages, sorted by title.", "所有网页，按标题排序。")
        case .noTitles: ("No page has a title.", "没有带标题的网页。")
        case .tooManyTitles: ("The site has too many pages to list them by title.", "站点的网页过多，无法按标题列出。")
        case .folderEmpty: ("Nothing is stored here.", "此处没有已存储的内容。")
        case .folderIndexPage: ("(index page of this folder)", "（此文件夹的首页）")
        case .redirect: ("redirect", "重定向")
        case .notFoundStatus: ("not found at the origin (%1)", "源站上不存在（%1）")
        case .statusIs: ("status %1", "状态码 %1")
        case .inSite: ("in %1", "位于 %1")

        // The details of a URL
        case .notStoredBadge: ("Not stored", "未存储")
        case .urlNotStored: (" This URL is not stored.", " 此网址未存储。")
        case .similarStoredURLs: ("Similar stored URLs", "相近的已存储网址")
        case .servedInstead:
            (
                "When offline, this URL is served instead (it differs only in %1): ",
                "离线时改为展示仅%1不同的网址："
            )
        case .differsInScheme: ("the scheme, http or https", "协议（http 或 https）")
        case .differsInSlash: ("the trailing slash", "末尾斜杠")
        case .differsInCacheBusters: ("cache-busting parameters", "缓存参数")
        case .differsInQuery: ("the query", "查询参数")
        case .differsInSearch: ("the query, which only scripts of the page read", "查询参数（仅由网页脚本读取）")
        case .orInTerminal: ("Or in a terminal:", "也可以在终端中运行：")
        case .beforeYouRun: ("Before you run this command, ", "运行此命令之前，请")
        case .requestOnce: ("request the URL once", "先请求一次此网址")
        case .toRecordMiss: (" to record the miss.", "，以留下未命中记录。")
        case .openOrigin: ("Open on the web", "在线打开")
        case .status: ("Status", "状态码")
        case .statusOfRedirect: ("%1 (redirect)", "%1（重定向）")
        case .kind: ("Kind", "类别")
        case .kindPage: ("page", "网页")
        case .kindAsset: ("asset", "资源")
        case .mediaTypeLong: ("Media type", "媒体类型")
        case .fetched: ("Fetched", "获取时间")
        case .fetchedInSnapshot: (" (%1), snapshot %2 of ", "，%1，快照 %2，站点 ")
        case .firstRequestedBy: ("First requested by", "首次请求来源")
        case .stateInvalidated: ("to be validated before it is used again", "再次使用前需重新验证")
        case .statePart: ("only a part is stored", "只存储了一部分")
        case .statePrivate: ("private: fetched with credentials", "私有：使用凭据获取")
        case .parsedAs: ("Parsed as", "解析为")
        case .storedIn: ("Stored in", "存储位置")
        case .damaged: ("Damaged", "已损坏")
        case .damagedHint:
            (" The stored content is missing or truncated; fetch it again.", " 存储的内容已丢失或不完整；请重新获取。")
        case .sha256: ("SHA-256", "SHA-256")
        case .md5: ("MD5", "MD5")
        case .notComputed: ("the content is too large; run ", "内容过大；可运行 ")
        case .toComputeIt: (" to compute it", " 计算")
        case .history: ("History", "历史")
        case .none: ("none", "无")
        case .forVariant: (" for ", " 针对 ")
        case .headers: ("Headers", "响应头")
        case .linkCount: ("Links: %1", "链接：%1")
        case .assetCount: ("Assets: %1", "所需资源：%1")
        case .notStored: ("not stored", "未存储")
        case .linkedFrom: ("Linked from", "链接来源")
        case .noLinkers: ("No stored response links here.", "已存储的内容中没有指向此处的链接。")
        case .noLinkersSoFar: ("No links found so far.", "目前没有找到链接。")
        case .noMoreLinkers: ("No more links found.", "没有更多链接。")
        case .noMoreLinkersSoFar: ("No more links found so far.", "目前没有更多链接。")
        case .continueSearching: ("Continue searching", "继续查找")

        // Missing URLs of a site
        case .requestedNotStored: ("Requested but not stored", "请求过但未存储")
        case .noMisses: ("No such requests recorded.", "没有此类请求。")
        case .nextPrefetchHint:
            (
                "The next prefetch of the site fetches those that were requested with GET.",
                "下次预取此站点时，会获取其中以 GET 方法请求的网址。"
            )
        case .missDetails: ("%1%2, %3, last ", "%1%2，%3，最近：")
        case .asset: ("asset", "资源")
        case .requestedBy: ("Requested by ", "请求来源：")
        case .neededBy: ("Needed by ", "引用者：")
        case .linkedBy: ("Linked from ", "链接来源：")
        case .andOneOther: (" and %1 other", " 及另外 %1 个")
        case .andManyOthers: (" and %1 others", " 及另外 %1 个")
        case .checkedFromStart: ("Checked %1, following links from the start page.", "从起始页沿链接检查了 %1。")
        case .nothingMissing: ("Everything that pages need is stored.", "页面所需的内容均已存储。")
        case .nothingMissingSoFar: ("Nothing missing found so far.", "目前没有发现缺失。")
        case .serverAnswered: ("the server answered %1", "服务器返回 %1")
        case .hostHasNoAddress: ("its host has no address", "其主机没有地址")
        case .pageSaysNotFound: ("the page says “not found”", "网页内容为“未找到”")
        case .linkedNotStored: ("Linked but not stored", "被链接但未存储")
        case .assetsNotStored: ("Assets not stored", "未存储的资源")
        case .basedOnAllLinks: ("Based on the links of all %1 pages and assets.", "依据全部 %1 个网页和资源中的链接。")
        case .basedOnSomeLinks:
            (
                "Based on the links of %1 of the pages and assets.",
                "目前只检查了 %1 个网页和资源中的链接。"
            )
        case .tombstonesLead:
            ("The origin answered these with 404 or 410 in the live snapshot.", "在当前快照中，源站对这些网址返回 404 或 410。")
        case .maybeMore: ("There may be more.", "可能还有更多。")

        // Changes between snapshots
        case .changesTitle: ("Changes between snapshots", "快照之间的变化")
        case .onlyOneSnapshot:
            (
                "There is only one snapshot. Update the site to get another one to compare.",
                "只有一个快照。更新该站点后才能比较。"
            )
        case .tooLargeToCompare:
            ("The snapshots are too large to compare here. In a terminal, run:", "快照过大，无法在此比较。请在终端中运行：")
        case .noDifference: ("No differences between snapshots %2 and %1.", "快照 %2 与快照 %1 没有差异。")
        case .added: ("Added", "新增")
        case .changed: ("Changed", "更改")
        case .gone: ("Gone", "移除")
        case .moved: ("Moved", "移动")
        case .movedTo: ("is now at", "现位于")
        case .allOf: ("Show all %1", "显示全部 %1 项")
        case .fromSnapshot: ("From snapshot", "旧快照")
        case .toSnapshot: ("To snapshot", "新快照")
        case .compareButton: ("Compare", "比较")

        // Screenshots
        case .screenshotsTitle: ("Screenshots", "网页截图")
        case .noSnapshot: ("There are no snapshots yet.", "还没有快照。")
        case .tooLargeToCompareScreenshots:
            (
                "The snapshots are too large to compare here. To compare them in a terminal, see:",
                "快照过大，无法在此比较。如需在终端中比较，请参阅："
            )
        case .noScreenshots:
            ("No screenshots are stored. To take them during a prefetch, see:", "尚未存储截图。如需在预取时截图，请参阅：")
        case .newScreenshot: ("New", "新增")
        case .unchanged: ("Unchanged", "无变化")
        case .screenshotReused: ("Not taken again", "未重新截图")
        case .snapshotCaption: ("Snapshot %1", "快照 %1")
        case .screenshotInSnapshot: ("Screenshot in snapshot %1", "快照 %1 中的截图")
        case .differences: ("Differences", "差异")
        case .differencesAlt: ("Differences; identical areas are black", "差异；相同区域为黑色")

        // Scripts
        case .scriptsLead:
            (
                "Stored scripts with their digests. To verify them against a manifest, run `larder check MANIFEST`.",
                "已存储的脚本及其摘要。如需根据清单校验，请运行 `larder check 清单文件`。"
            )
        case .noScripts: ("No scripts are stored.", "没有已存储的脚本。")
        case .noScriptsSoFar: ("None found so far.", "目前没有找到。")
        case .moreScripts: ("More scripts", "更多脚本")
        case .tooLargeDigest: ("too large to compute here", "过大，无法在此计算")
        case .verdictVerified: ("verified", "校验通过")
        case .verdictUnverifiable: ("unverifiable", "无法校验")
        case .verdictSkew: ("skew", "版本不一致")
        case .verdictMismatch: ("mismatch", "不一致")
        case .weakProof: ("by %1, which detects damage, but no attack", "使用 %1，可发现损坏，但无法防范蓄意篡改")
        case .strongProof: ("by %1", "使用 %1")
        case .signedBy: ("signed by %1", "签名密钥：%1")

        // Search
        case .searchFor: ("Search: %1", "搜索：%1")
        case .searchLabel: ("Text, title or URL of a page", "网页的文字、标题或网址")
        case .searchLabelSite: ("Text, title or URL of a page of this site", "此站点网页的文字、标题或网址")
        case .searchAll: ("Search all sites", "搜索所有站点")
        case .results: ("Results", "结果")
        case .oneResult: ("%1 result", "%1 个结果")
        case .manyResults: ("%1 results", "%1 个结果")
        case .moreResults: ("More results", "更多结果")
        case .allResults: ("%1.", "%1。")
        case .topResults: ("Top %1.", "最相关的 %1。")
        case .lastResults: ("Last %1.", "最后 %1。")
        case .resultsSoFar: ("%1 so far.", "目前找到 %1。")
        case .someWordsOnly:
            ("No page contains all of these words. %1 with some of them.", "没有网页包含全部搜索词。以下 %1只包含其中一部分。")
        case .noResults: ("No results.", "没有结果。")
        case .noMoreResults: ("No more results.", "没有更多结果。")
        case .noResultsSoFar: ("No results so far.", "目前没有结果。")
        case .didYouMean: ("Did you mean ", "您是否要找 ")
        case .unindexedOne: ("%1 page is not indexed yet. To index it, run ", "尚有 %1 个网页未建立索引。请运行 ")
        case .unindexedMany: ("%1 pages are not indexed yet. To index them, run ", "尚有 %1 个网页未建立索引。请运行 ")
        case .unindexedEnd: (".", " 建立索引。")

        // The bar on mirrored pages
        case .barTitle: ("Page bar", "网页信息栏")
        case .barLead:
            (
                "Adds a bar to the bottom of every mirrored page: the date of the copy, other snapshots, a search field, and a link to this portal. Pages cannot read the bar, and stored copies do not change.",
                "在每个镜像网页底部添加信息栏：副本的日期、其他快照、搜索框，以及返回管理页面的链接。网页无法读取该栏，存储的副本也不会改变。"
            )
        case .barIsOn: ("The bar is shown", "信息栏已显示")
        case .barIsOff: ("The bar is hidden", "信息栏已隐藏")
        case .doShowBar: ("Show bar", "显示信息栏")
        case .doHideBar: ("Hide bar", "隐藏信息栏")
        case .barName: ("Larder: about this copy", "Larder：关于此副本")
        case .barHide: ("Hide the bar until the next page", "隐藏此栏，直到打开下一个网页")
        case .barFrom: ("As of ", "保存于 ")
        case .barEarlier: ("Earlier", "更早")
        case .barLater: ("Later", "更晚")
        case .barHistory: ("History", "历史")

        // Mirrored pages without scripts
        case .frozenNotice:
            ("This is the page as it was shown, without its scripts.", "这是当时显示的网页，不含脚本。")
        case .frozenScripts: ("Open it with scripts", "打开含脚本的网页")

        // The page for a URL that is not stored
        case .missReason:
            (
                "This URL is not stored, and the server did not request it from the network.",
                "此网址未存储，服务器也没有联网获取。"
            )
        case .missNoted:
            (
                "The miss is recorded; the next update of the site fetches the URL.",
                "已记录，下次更新站点时会获取此网址。"
            )
        case .toFetchRun: ("To fetch it, run:", "如需获取，请运行：")
        case .fetchInPortal: ("Fetch it now in the portal", "在管理页面中立即获取")
        case .searchInPortal: ("Search stored pages for “%1”", "在已存储的网页中搜索“%1”")
        case .sendsRequest: (" (sends a request to the origin).", "（会向源站发送请求）。")
        case .missInSnapshot:
            ("This earlier snapshot does not contain this URL.", "这个较早的快照中没有此网址。")
        case .openInLive: ("Open it in the live snapshot", "在当前快照中打开")

        // Requests through a proxy
        case .proxyTitle: ("Larder proxy", "Larder 代理")
        case .proxyCertificate: ("Certificate of the proxy’s authority", "代理的 CA 证书")
        case .trafficAsJSON: ("traffic as JSON", "请求记录的 JSON 版本")
        case .trafficLead:
            (
                "%1. To use the proxy, set `http_proxy=%2` and `https_proxy=%2`. To make programs trust its certificate, see: `larder ca`.",
                "%1。如需使用此代理，请设置 `http_proxy=%2` 和 `https_proxy=%2`。如需让程序信任其证书，请参阅：`larder ca`。"
            )
        case .trafficLabel: ("Filter by method, URL, status or source", "按方法、网址、状态码或来源筛选")
        case .trafficNone: ("No requests yet.", "尚无请求。")
        case .trafficNoMatch: ("No matching requests.", "没有符合条件的请求。")
        case .trafficStored: ("stored", "已存储")
        case .stopRefreshing: ("Stop refreshing", "停止刷新")
        case .refreshAutomatically: ("Refresh automatically", "自动刷新")
        case .fromStore: ("from the store", "来自存储库")
        case .fromValidated: ("revalidated", "已重新验证")
        case .fromNetwork: ("from the network", "从网络加载")
        case .fromMissed: ("missed", "未命中")
        case .fromTunnel: ("tunnelled", "经隧道转发")
        case .countOfSource: ("%1 %2", "%2 %1")
        case .milliseconds: ("%1 ms", "%1 毫秒")
        }
    }
}
