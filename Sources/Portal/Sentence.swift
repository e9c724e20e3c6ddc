/// A text of the portal: a sentence, a label or a part of a sentence. `text(in:)` returns it in a language.
///
/// `%1` to `%9` are placeholders, whose values a `Phrase` has. Text between backticks is code, which `HTMLWriter` writes
/// as a `code` element.
///
/// The first part of a name says where the text appears: `do…` is the text of a button, `form…` the label of a field,
/// `job…` the title of a job, `state…` a state, `mistake…` an error in a form, `refused…` the reason why the portal
/// refuses a request, `…Lead` the first paragraph of a page, and `…Hint` an explanation below a field or link.
package enum Sentence: String, Sendable, CaseIterable {
    // The frame of every page
    case sites, scripts, search, proxy, activity, storage, skipToContent, breadcrumb, footer, asJSON,
        allSites, language, logout, fullStop

    // Parts of sentences
    case comma, and, questionMark, withNote, nameAndCount, oneTime, manyTimes, oneAddress, manyAddresses,
        oneByte, manyBytes, moreThan, orMore, approximately, andMore, more, showMore

    // Access
    case login, password, doLogin, loginWrong, loginTooManyAttempts, refused, refusedReadOnly,
        refusedOrigin, refusedToken, refusedLogin, refusedPassword, refusedOtherMachine

    // Mistakes in forms
    case mistakeMissingField, mistakeURL, mistakeWordForURL, mistakeScheme, mistakeCredentials,
        mistakeSite, mistakeSnapshot, mistakeNumber, mistakeChoice, mistakeSize, mistakeTooManyJobs,
        mistakeForm, mistakeNoFile, mistakeNoDiskSpace, mistakePageTooLarge

    // The page of jobs
    case jobsInProgress, noJobsInProgress, finishedJobs, newSite, connectionLost

    // Titles of jobs
    case jobPrefetch, jobSavePage, jobUpdateAll, jobUpdate, jobFetch, jobCheck, jobCheckLinks, jobPin,
        jobUnpin,
        jobRemoveSnapshot, jobMakeLive, jobRemoveSite, jobPreviewCleanup, jobCleanUp, jobChangeSettings,
        jobExport, jobExportSnapshot, jobImport, jobSaveFromBrowser, jobInstallTimer, jobUndo

    // States of jobs
    case stateWaiting, statePlanned, removalPlanned, stateRunning, stateStopping, stateDone,
        stateDoneWithProblems,
        stateStopped, stateCancelled, stateFailed, stateInterrupted

    // Buttons
    case doPrefetch, doUpdateAll, doUpdate, doFetch, doCheck, doCheckLinks, doPin, doUnpin, doRemoveSnapshot,
        doMakeLive, doRemoveSite, doPreviewCleanup, doPreviewAgain, doCleanUp, doCleanUpOneSnapshot,
        doCleanUpSnapshots,
        doChangeLimit,
        doSaveSettings, doStop, doCancel, doRetry, doRetryAll, doTryHTTP,
        doExport, doImport, doDownload, doDeleteFile, doUndo, doSearch

    // Figures of a job
    case figurePages, figureQueuedPages, figureAssets, figureQueuedAssets, figureFailed, figureSize,
        figureSpeed, figureElapsed, figureRemaining, host, hosts, hostRunning, hostQueued, hostRate,
        hostPause

    // Outcomes of jobs. The list of jobs is saved with the raw values of these, so a renamed case keeps
    // its old one.
    case endedPages
    case endedFailed = "endedMissing"
    case endedBroken
    case endedNotPublished, endedInterrupted, endedNotRehearsed, endedLimit, endedUnread, checkClean,
        checkCleanExcept,
        checkNotFetched, checkFailed, checkItem,
        linksClean,
        linksBroken, pinned, pinnedBefore, unpinned
    case snapshotRemoved = "dropped"
    case snapshotMadeLive = "nowServed"
    case siteRemoved = "removed"
    case urlFailed
    case cleanedUp = "collected"
    case cleanupPreview = "wouldCollect"
    case cleanupOneSnapshot, cleanupSnapshots, fetchedStored, siteCompleteNow, siteCompleteWithinLimitsNow,
        siteStillMissing,
        pageAlsoStored, cleanupSnapshot, cleanupLastSnapshot, cleanupNothing, previewOutdated,
        previewCarriedOut, cleanupIndex,
        cleanedSnapshots,
        cleanedFiles, cleanedIndex, cleanedUnused,
        limitMissed,
        limitMissedLive, limitMissedPins, limitMissedEmpty, limitMissedAgain, limitUnreachable,
        limitAttainable,
        filesNotShrunk
    case wouldRemoveURL = "wouldEvict"
    case settingsSaved = "settled"
    case exported, exportedOpen, exportDamaged, exportFailed, exportMissing, imported, importRefused
    case importMayBeBomb = "importGrown"
    case savedPage
    case saveLeftOut = "savedOthers"
    case removalUndone, nothingToUndo
    case timerStarted, timerNotStarted, timerNoSystemd, timerCron, refusedTimer
    case mistakeFileGone = "mistakeLost"
    case removedSpace
    case untranslated = "quoted"
    case errorDetails, errorStoreBusy, errorDiskFull, errorNoPermission, errorStoreDamaged,
        errorStoreUnreachable,
        errorStoreFailed, errorServerFailed

    // The form of a prefetch and the settings of a site
    case formWhat, whatSite, whatPage, formAddress, formAddressHint, formMore, formScope, scopeHost,
        scopePath, scopeDomain, formRender, renderAuto, renderNever, renderAlways, formDepth,
        formDepthHint, formPages, formNoLimitHint, formBytes, formBytesHint, formRobots, robotsObey,
        robotsIgnore, formPerHost, formPerHostHint, formInclude, formIncludeHint, formExclude,
        formExcludeHint, settingsLead

    // Automatic updates
    case formEvery, formEveryHint, formTimerHelp, installTimer, everyNever, everyHour, everySix, everyDay,
        everyWeek, everyOther,
        nextUpdate, cardFetched, cardChecked, cardNextUpdate, nothingRunsSchedule, installTimerHint,
        doInstallTimer

    // Saving pages from the browser, and its extension
    case alreadyStoredTitle, alreadyStored, alreadyStoredFetched, doUpdateThatSite, doSaveAnyway,
        partlyStoredTitle, partlyStored, partlyStoredHint, doAddSeparateSite
    case addTitle, addLead, saveTitle, saveLead, saveBookmark, saveBookmarkHint, extensionTitle,
        extensionLead, extensionInstall, extensionUnpack, doDownloadExtension, pairCode, pairCodeHint, doPair,
        pairedTitle, doUnpair,
        pairCodeWrong, refusedPairing

    // Archives
    case exportTitle, exportLead, exportFormat, exportLive, exportLeavesOutPrivate, formatZIP, formatWACZ,
        formatWARC, formatHAR, formatZIM, formatHTML, importTitle, importLead, importFile, importSite,
        importSiteHint, importBase, importBaseHint

    // The home page
    case homeLead, oneSite, manySites, searchStoredPages, openOriginal, openOriginalHint, doOpen,
        homeEmpty, homeNewSite, homeInTerminal, homeReload, addSite, onePage, manyPages,
        stateUpdating, progress, continueReading, randomPage, filterSites, noMatchingSites,
        tag, allTags, sortBy, sortName, sortNewest, sortOldest, sortLargest, doFilter, formTags, formTagsHint,
        formNote, formNoteHint, formTitle, formTitleHint

    // The sections of a site's page, and the links of ended jobs
    case problems, allProblems, causeServerError, causeRefused, causeNoAddress, causeNotStored, causePart,
        causeOther, oneAsset, manyAssets, noChanges, addedCount, changedCount, goneCount, movedCount,
        confirmedAt,
        advanced, manifest, trustedKeys, kindHTML, kindImages, kindStyles, kindFonts, kindMedia,
        kindDocuments,
        kindData,
        kindOther, kindAdditional, toTheSite, viewProblem, viewProblems, jobLog, phaseFetching,
        phaseRendering, phaseStoring,
        phaseIndexing, notifyOn,
        notifyOff

    // The comparison of a page in two snapshots
    case compareTitle, textDifferences, comparedText, textNotComparable, textUnchanged, removedLine,
        addedLine, equalLines

    // The filters of the search
    case anySite, facetType, anyType, typePages, typePDF, typeText, facetAge, anyAge, ageDay, ageWeek,
        ageMonth,
        ageYear

    // Original URLs in the address of the portal, and the page for an unknown path
    case snapshotWordInvalid, snapshotURLMissing, snapshotNotFound, snapshotsNotAtRoot, notFoundTitle,
        noPageAt, openByFullURL

    // The page that the browser shows while the server does not answer
    case offlineTitle, offlineLead, offlineStart, offlineLastOpened, offlineRetry, doTryAgain

    // A site
    case searchSite, missingURLs, pagesByTitle, settings, pagesAndAssets, nothingBelowStart,
        moreOfFolder, byHost, moreHosts, mediaTypes, basedOnFirstResponses, mediaType, responses,
        notSpecified, snapshots, snapshot, started, state, actions, compareSnapshots, screenshots,
        liveBadge, storedState, overlayOn, unfinished, rejected, snapshotNumber, failedCount, complete,
        completeWithinLimits, completeOnlyStartPages, linksNotFetched, oneLinkNotFetched, incomplete, empty,
        siteFetched,
        siteNotChecked, siteChecked, siteStarted, siteUnfinished,
        siteNeverPrefetched, brokenOnLiveSite, failed, notFetched, notFetchedHint, notCheckedYet

    // The links of a site
    case links, linksNotChecked, linksChecked, linksCheckedOld, noBrokenLinks, linkPlace, linkPlaceLine,
        linkVerified, linkIgnored, linkNotChecked, linkRedirected, linkMixedContent, linkBlocked, linkFailed,
        linkTimedOut, linkFragmentMissing, linkDead

    // Storage
    case storageLead, storageSites, storageEarlier, storageRemoved, storageUndo, storageIndex, storageRest,
        storageShared, storageMap,
        storageTable, site,
        largestPart,
        cleanup,
        cleanupLead, cleanupLimit, cleanupLimitHint

    // Lists of titles and of folders
    case titlesLead, noTitles, details, tooManyTitles, folderEmpty, folderIndexPage, redirect,
        statusIs, inSite

    // The details of a URL
    case notStoredBadge, urlNotStored, similarStoredURLs, servedInstead, differsInScheme, differsInSlash,
        differsInCacheBusters, differsInQuery, differsInSearch, orInTerminal, openOrigin, status,
        statusOfRedirect, kind, kindPage, kindAsset, mediaTypeLong,
        fetched, fetchedInSnapshot, checked, checkedLater, firstRequestedBy, stateInvalidated, statePart,
        statePrivate, parsedAs,
        storedIn, damaged, damagedHint, technicalDetails, sameContent, sha256, md5, notComputed, toComputeIt,
        history, none, forVariant, requestFrozen, requestShown, requestPictured,
        headers, linkCount, assetCount, notStored, linkedFrom, noLinkers, requestedNotLinked, noLinkersSoFar,
        noMoreLinkers,
        noMoreLinkersSoFar, continueSearching

    // Missing URLs of a site
    case requestedNotStored, noMisses, doExclude, excludeHint, excludeProposed, toTheURL, nextPrefetchHint,
        nextPrefetchHintForGET, missDetails, openedDirectly,
        requestedByNoPage, asset, requestedBy, neededBy,
        linkedBy, andOneOther, andManyOthers, checkedFromStart, checkResult, nothingMissing,
        nothingMissingExcept, exceptBroken, exceptLeftOut, nothingMissingSoFar,
        serverAnswered, serverTimedOut, serverUnreachable, connectionBroke, lastUpdateFailed,
        nextUpdateRetries,
        hostHasNoAddress, pageSaysNotFound, linkedNotStored,
        assetsNotStored, basedOnAllLinks,
        basedOnSomeLinks,
        tombstones, tombstonesLead, maybeMore

    // Changes between snapshots
    case changesTitle, onlyOneSnapshot, tooLargeToCompare, noDifference, added, changed, gone, moved,
        movedTo, allOf, fromSnapshot, toSnapshot, compareButton

    // Screenshots
    case screenshotsTitle, noSnapshot, tooLargeToCompareScreenshots, noScreenshots, newScreenshot,
        unchanged, screenshotReused, snapshotCaption, screenshotInSnapshot, differences, differencesAlt

    // Scripts
    case scriptsLead, noScripts, noScriptsSoFar, moreScripts, scriptsAndDigests, tooLargeDigest,
        verdictVerified,
        verdictUnverifiable, verdictSkew, verdictMismatch, weakProof, strongProof, signedBy

    // Search
    case searchFor, searchLabel, searchLabelSite, searchAll, searchEarlierHint, liveSnapshot,
        searchSnapshot, nothingIndexed, results, oneResult,
        manyResults, moreResults,
        slashOn, slashOff,
        allResults, topResults, lastResults, resultsSoFar, someWordsOnly, completeResultsFirst,
        completeResultFirst,
        noResults, noMoreResults, noResultsSoFar, didYouMean, unindexedOne, unindexedMany, unindexedEnd

    // The bar on mirrored pages
    case barTitle, barLead, barIsOn, barIsOff, doShowBar, doHideBar, barName, barHide, barLatest,
        barOlder, barLatestIs, barTurnOff, barTurnOffHint, barLivePage, barHowToGetBack, barBackToPage,
        barEarlier,
        barLater, barHistory, barCompareHint

    // Mirrored pages without scripts
    case frozenNotice, frozenScripts

    // The page for a URL that is not stored
    case missReason, removedSite, undoInPortal, missNoted, excludedBySettings, changeSettings, missExcluded,
        toFetchRun, fetchInPortal, searchInPortal, siteSearchResults, siteSearchLead, siteSearchEmpty,
        sendsRequest, missInSnapshot,
        openInLive

    // Updates of apps
    case channelsTitle, channelsLead, noChannels, updateSavings, updateName, updateEmbedded, updateShare,
        updatePlatform,
        updatePublished, updateInstalled, updateForAll, updateForSome, updateHalted,
        updateHaltedByFailures, updateReplaced, updateNext, updateAllowed, updateHaltsAt

    // The updates of one device
    case deviceID, doShowDevice, mistakeDeviceID, deviceLead, deviceUnknown, appAndChannel, deviceGets,
        deviceGetsIt, deviceGetsItNot, deviceReported, deviceInShare, deviceAllowed, deviceRunsIt,
        deviceKeepsHalted, deviceOutsideShare, deviceHalted

    // Requests through a proxy
    case proxyTitle, proxyCertificate, trafficAsJSON, trafficLead, trafficLabel, trafficNone,
        trafficNoMatch, trafficStored, stopRefreshing, refreshAutomatically, fromStore, fromValidated,
        fromNetwork, fromMissed, fromTunnel, countOfSource, milliseconds
}

extension Sentence {
    /// The text with `%1` to `%9` replaced by the parts. Parts are not searched for placeholders.
    package func text(in language: PortalLanguage, _ parts: [String] = []) -> String {
        spans(in: language, parts).map { $0.text }.joined()
    }

    /// The same text as alternating spans of plain text and code. Parts are not searched for backticks, so that text
    /// from outside never appears as code.
    func spans(in language: PortalLanguage, _ parts: [String] = []) -> [(text: String, isCode: Bool)] {
        let spans = pattern(in: language).utf8.split(
            separator: UInt8(ascii: "`"), omittingEmptySubsequences: false)
        let values = quotesInput ? parts : parts.map(language.figure)
        return spans.enumerated().map {
            (Self.replacePlaceholders(in: $1, by: values), !$0.isMultiple(of: 2))
        }
    }

    /// Whether the sentence quotes input of the user, whose figures are not formatted.
    private var quotesInput: Bool {
        switch self {
        case .mistakeURL, .mistakeWordForURL, .mistakeScheme, .mistakeSite, .mistakeSnapshot, .mistakeNumber,
            .mistakeChoice, .mistakeSize, .snapshotWordInvalid, .snapshotNotFound, .searchFor,
            .searchInPortal, .siteSearchResults:
            true
        default: false
        }
    }

    /// The text with its placeholders, from the file of the language.
    package func pattern(in language: PortalLanguage) -> String {
        switch language {
        case .english: english
        case .chinese: chinese
        case .german: german
        }
    }

    /// Replaces the placeholders that have a part, in one pass. Placeholders without a part stay in the text.
    private static func replacePlaceholders(in pattern: Substring.UTF8View, by parts: [String]) -> String {
        guard !parts.isEmpty else { return String(Substring(pattern)) }
        var bytes: [UInt8] = []
        var rest = pattern
        while let byte = rest.popFirst() {
            guard byte == UInt8(ascii: "%"), let digit = rest.first, (0x31...0x39).contains(digit),
                parts.indices.contains(Int(digit - 0x31))
            else {
                bytes.append(byte)
                continue
            }
            rest = rest.dropFirst()
            bytes += parts[Int(digit - 0x31)].utf8
        }
        return String(decoding: bytes, as: UTF8.self)
    }
}

/// A sentence with the values for its placeholders. It is translated when it is shown, so that the saved outcome of a job
/// appears in the language of each reader.
package struct Phrase: Sendable, Equatable {
    let sentence: Sentence
    /// The values for `%1`, `%2` and so on.
    package let parts: [String]

    package init(_ sentence: Sentence, _ parts: String...) { self.init(sentence, parts) }

    package init(_ sentence: Sentence, _ parts: [String]) { (self.sentence, self.parts) = (sentence, parts) }

    /// The text in the language, with its placeholders replaced.
    package func text(in language: PortalLanguage) -> String {
        sentence.text(in: language, values(in: language))
    }

    /// The values for the placeholders. The duration of a finished prefetch gets the units of the language, a verdict of a
    /// check its name, the date of a snapshot the order of the language, and the reason of a failure its words.
    package func values(in language: PortalLanguage) -> [String] {
        switch (sentence, parts.count) {
        case (.endedPages, 4): Array(parts[..<3]) + [language.duration(parts[3])]
        case (.checkItem, 2):
            [language.verdict(parts[0]), FailureText.translatingReason(after: ", ", in: parts[1], language)]
        case (.urlFailed, 2): [parts[0], FailureText.text(for: parts[1], in: language)]
        case (.cleanupSnapshot, 4), (.cleanupLastSnapshot, 4):
            [parts[0], parts[1], language.day(parts[2]), parts[3]]
        default: parts
        }
    }
}
