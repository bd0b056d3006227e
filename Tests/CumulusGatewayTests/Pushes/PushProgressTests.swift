// The progress of a device, without a node: what one push tells, pauses, and marks.

import CumulusGateway
import CumulusModel
import CumulusWire
import Testing

@Suite struct PushProgressTests {
    private func page(
        _ notifications: [FeedNotification] = [],
        _ token: Bytes = [1],
        isCheckpoint: Bool = true,
        reset: FeedReset? = nil
    ) -> WireFeedPage {
        WireFeedPage(
            notifications: notifications,
            token: token,
            isCheckpoint: isCheckpoint,
            reset: reset
        )
    }

    private func told(
        _ id: UInt8,
        isRead: Bool = false,
        _ change: (inout Subscription.NotificationInfo) -> Void
    ) -> FeedNotification {
        var notification = PushSamples.notification(change)
        notification.id = FeedNotification.ID(bytes: Bytes(repeating: id, count: 16))
        notification.isRead = isRead
        return notification
    }

    private func silent(_ id: UInt8) -> FeedNotification {
        told(id) { $0.shouldSendContentAvailable = true }
    }

    private func alert(_ id: UInt8) -> FeedNotification {
        told(id) {
            $0.alertBody = "a"
            $0.shouldBadge = true
        }
    }

    @Test func onePushTellsTheNewestThatShowsSomething() throws {
        var progress = PushProgress(now: 0, dice: 0)
        progress.take(page([silent(1)]))
        #expect(progress.news?.notification?.id == silent(1).id)
        #expect(progress.news?.hasMore == false)
        progress.take(page([alert(2), alert(3), silent(4)]))
        let news = try #require(progress.news)
        #expect(news.notification?.id == alert(3).id)
        #expect(news.hasMore && news.badge == 2)
        progress.send(now: 100)
        progress.take()
        progress.finish(page([], [2]))
        #expect(progress.news == nil && progress.feed == [2])
        progress.take(page([alert(5)]))
        #expect(progress.news?.badge == 3)
    }

    @Test func whatWakesNobodyIsNoPush() {
        var progress = PushProgress(now: 0, dice: 0)
        progress.take(
            page([
                told(1) { $0.category = "c" }, told(2) { $0.shouldSendMutableContent = true },
                told(3, isRead: true) { $0.alertBody = "read" },
            ])
        )
        #expect(progress.news == nil)
        progress.take(page(reset: .all))
        #expect(progress.news?.reset == .all)
    }

    /// The alert that is shown takes along that another subscription wakes the app.
    @Test func aPushThatShowsSomethingWakesTheAppForTheOthers() throws {
        var progress = PushProgress(now: 0, dice: 0)
        progress.take(page([told(1) { $0.alertBody = "a" }]))
        #expect(progress.news?.wakes == false && progress.news?.setsBadge == false)
        progress.take(page([silent(2)]))
        var news = try #require(progress.news)
        #expect(news.notification?.id == alert(1).id && news.wakes && !news.setsBadge)
        progress.take(page([told(3) { $0.shouldBadge = true }, told(4) { $0.soundName = "s" }]))
        news = try #require(progress.news)
        #expect(news.notification?.id == alert(4).id && news.wakes && news.setsBadge)
    }

    /// What was read elsewhere is not shown, but wakes the app: its copy is old, too.
    @Test func whatWasReadElsewhereWakesSilently() throws {
        var progress = PushProgress(now: 0, dice: 0)
        progress.take(
            page([
                told(1, isRead: true) {
                    $0.alertBody = "read"
                    $0.shouldSendContentAvailable = true
                    $0.shouldBadge = true
                }
            ])
        )
        let news = try #require(progress.news)
        #expect(news.wakes && !news.setsBadge && news.badge == 1)
        #expect(news.notification?.notificationInfo?.shows == false)
    }

    @Test func aResetThatNobodyWaitsForIsNoPush() {
        var progress = PushProgress(now: 0, dice: 0)
        progress.take(page(reset: .all), heedsReset: false)
        #expect(progress.news == nil)
    }

    @Test func pushesAreASecondApart() {
        var progress = PushProgress(now: 0, dice: 0)
        #expect(progress.wait(now: 5_000) == 0)
        progress.send(now: 5_000)
        #expect(progress.wait(now: 5_000) == 1_000)
        #expect(progress.wait(now: 5_700) == 300)
        #expect(progress.wait(now: 6_000) == 0)
        // A clock that was set back holds nothing up.
        #expect(progress.wait(now: 4_000) == 0)
    }

    @Test func pausesDoubleAndServicesMayAskForMore() {
        var progress = PushProgress(now: 0, dice: 0)
        let pauses = (0..<10).map { _ in progress.fail(dice: 0) }
        #expect(
            pauses == [
                500, 1_000, 2_000, 4_000, 8_000, 16_000, 32_000, 64_000, 128_000, 150_000,
            ]
        )
        for dice in [1, 77_777, UInt64.max] {
            #expect((150_000...300_000).contains(progress.fail(dice: dice)))
        }
        #expect(progress.fail(wish: 600_000, dice: 0) == 600_000)
        #expect(progress.fail(wish: .max, dice: 0) == PushProgress.longestWish)
        progress.take()
        #expect(progress.failures == 0)
        #expect(progress.fail(wish: 30, dice: 0) == 500)
    }

    @Test func aMarkFollowsAPushOrAnHour() {
        let hour = PushProgress.markInterval
        var progress = PushProgress(now: 0, dice: 0)
        #expect(!progress.isMarkDue(now: 1_000))
        progress.take()
        #expect(progress.isMarkDue(now: 1_000))
        progress.mark(now: 1_000)
        #expect(!progress.isMarkDue(now: 2_000))
        #expect(progress.isMarkDue(now: 1_000 + hour))
        // Devices are not all marked at the same time.
        let other = PushProgress(now: 0, dice: UInt64(hour) - 10)
        #expect(other.isMarkDue(now: 10))
    }

    /// A mark that the node does not take is owed; pauses grow, and what was told stays told.
    @Test func aMarkThatFailsIsTriedAgain() {
        var progress = PushProgress(now: 0, dice: 0)
        progress.take(page([alert(1)], [2]))
        progress.take()
        progress.finish(page([], [2]))
        #expect(progress.markPause(now: 0) == nil)
        var (now, pauses) = (Int64(0), [Int64]())
        for _ in 0..<4 {
            progress.failMark(now: now, dice: 0)
            #expect(!progress.isMarkDue(now: now))
            pauses.append(progress.markPause(now: now) ?? 0)
            now += pauses.last ?? 0
            #expect(progress.isMarkDue(now: now))
        }
        #expect(pauses == [500, 1_000, 2_000, 4_000])
        progress.failMark(now: now, dice: 0)
        // A clock that was set back holds nothing up.
        #expect(progress.isMarkDue(now: now - 2 * PushProgress.longestPause))
        progress.restart()
        #expect(progress.feed == [2] && progress.news == nil)
        progress.mark(now: now)
        #expect(progress.markPause(now: now) == nil && progress.failedMarks == 0)
    }

    /// Five refusals in a row end an address, once they took a minute.
    @Test func refusalsEndAnAddress() {
        var progress = PushProgress(now: 0, dice: 0)
        let quick = (0..<6).map { progress.refuse(now: $0 * 1_000) }
        #expect(quick.allSatisfy { !$0 } && progress.wasRefused)
        let late = progress.refuse(now: PushProgress.refusalTime)
        #expect(late)
        // One that is taken begins the count anew.
        progress.take()
        let slow = (1...4).map { progress.refuse(now: $0 * PushProgress.refusalTime) }
        #expect(slow.allSatisfy { !$0 })
        let fifth = progress.refuse(now: 5 * PushProgress.refusalTime)
        #expect(fifth && progress.isMarkDue(now: 0))
    }

    /// A page in the middle of a read is read again after a failure, since nothing was told yet.
    @Test func onlyACheckpointEndsARead() {
        var progress = PushProgress(now: 0, dice: 0)
        progress.begin(at: [7])
        progress.take(page([alert(1)], [8], isCheckpoint: false))
        progress.finish(page([], [8], isCheckpoint: false))
        #expect(progress.feed == [7] && progress.news != nil)
        progress.restart()
        #expect(progress.feed == [7] && progress.news == nil)
    }
}
