// The progress of a webhook, without a node: pauses, repetitions, and when the feed is marked.

import CumulusGateway
import CumulusModel
import CumulusWire
import Testing

@Suite struct WebhookProgressTests {
    private func page(_ token: Bytes, isCheckpoint: Bool = true) -> WireFeedPage {
        WireFeedPage(notifications: [], token: token, isCheckpoint: isCheckpoint)
    }

    private func told(_ id: String) -> WebNotification { WebNotification(id: id, text: "{}") }

    @Test func pausesDoubleUntilTheEndpointTakesSomething() {
        var progress = WebhookProgress()
        let pauses = (0..<11).map { _ in progress.fail() }
        #expect(
            pauses == [
                1_000, 2_000, 4_000, 8_000, 16_000, 32_000, 64_000, 128_000, 256_000, 300_000,
                300_000,
            ]
        )
        for _ in 0..<1_000 { #expect(progress.fail() == 300_000) }
        progress.take(told("a"))
        #expect(progress.failures == 0)
        #expect(progress.fail() == 1_000)
        progress.finish(page([1]))
        #expect(progress.fail() == 1_000)
    }

    @Test func onlyWhatWasNotTakenIsRepeated() {
        var progress = WebhookProgress()
        #expect(progress.feed == nil)
        progress.begin(at: [7])
        progress.take(told("a"))
        _ = progress.fail()
        // The page is read again, from where it began.
        #expect(progress.feed == [7])
        #expect(!progress.owes(told("a")))
        #expect(progress.owes(told("b")))
        progress.take(told("b"))
        progress.finish(page([8]))
        #expect(progress.feed == [8])
        // An id that comes again behind the page is news.
        #expect(progress.owes(told("a")))
    }

    /// A sent record is remembered until the page was read again up to its checkpoint.
    @Test func whatWasSentAndIsNotToldAgainIsKnown() {
        func news(_ name: String, _ id: UInt8, _ subscription: String = "s") -> FeedNotification {
            FeedNotification(
                id: FeedNotification.ID(bytes: Bytes(repeating: id, count: 16)),
                subscriptionID: subscription,
                databaseScope: .private,
                news: .record(
                    FeedNotification.RecordNews(
                        recordID: Record.ID(recordName: name),
                        recordType: "Note",
                        reason: .created,
                        transition: .entered
                    )
                ),
                changedAt: Timestamp(millisecondsSince1970: 0)
            )
        }
        func page(_ news: [FeedNotification], isCheckpoint: Bool = true) -> WireFeedPage {
            WireFeedPage(notifications: news, token: [1], isCheckpoint: isCheckpoint)
        }
        var progress = WebhookProgress()
        progress.send(news("a", 1))
        progress.send(news("a", 2, "t"))
        progress.send(news("b", 3))
        _ = progress.fail()
        // The page is read again: one has changed, and one moved behind the page.
        let first = page([news("a", 4)], isCheckpoint: false)
        #expect(progress.untold(by: first).isEmpty)
        progress.finish(first)
        #expect(progress.untold(by: page([news("b", 5)])) == [news("a", 2, "t")])
        #expect(Set(progress.untold(by: page([]))) == [news("a", 2, "t"), news("b", 3)])
        progress.finish(page([]))
        #expect(progress.untold(by: page([])).isEmpty)
    }

    @Test func theFeedIsMarkedWhenItIsUpToDate() {
        var progress = WebhookProgress()
        // Once at the beginning, so that a quiet feed has a position.
        #expect(progress.isMarkDue(behind: page([1]), now: 0))
        progress.mark(now: 0)
        progress.finish(page([1]))
        #expect(!progress.isMarkDue(behind: page([2]), now: 1))
        #expect(progress.isMarkDue(behind: page([2]), now: WebhookProgress.markInterval))

        progress.take(told("a"))
        let middle = page([3], isCheckpoint: false)
        #expect(!progress.isMarkDue(behind: middle, now: WebhookProgress.markInterval))
        progress.finish(middle)
        // The last page of the read has nothing of its own.
        #expect(progress.isMarkDue(behind: page([4]), now: 1))
        progress.mark(now: 1)
        #expect(!progress.isMarkDue(behind: page([5]), now: 2))
        var reset = page([6])
        reset.reset = .all
        #expect(progress.isMarkDue(behind: reset, now: 2))
    }
}
