// Polls for notifications: each waits until there is one, and is answered with it.
//
// The HTTP server calls it for the URLs that tokens/create hands out; tests call it without a
// server. A poll follows the user's feeds as a native client does, from the token of the last page
// on. So events between two polls are delivered by the second one.

import CumulusModel
import CumulusNode
import CumulusWire

package struct WebCourier: Sendable {
    /// How long a poll waits, in milliseconds: less than proxies let a request wait.
    package static let patience: Int64 = 55_000
    /// How long a poll is held that a newer one replaced, in milliseconds.
    private static let pause: Int64 = 1_000

    private let gateway: WebGateway
    private var door: any WebDoor { gateway.door }
    private var board: CourierBoard { gateway.board }

    init(_ gateway: WebGateway) {
        self.gateway = gateway
    }

    /// An answer, and what it tells.
    package struct Delivery: Sendable {
        package var answer: WebAnswer
        fileprivate var told: (station: UInt64, id: String)?
    }

    /// The browser was sent the answer; what it tells is not told again.
    package func delivered(_ delivery: Delivery) {
        if let told = delivery.told { board.told(told.id, of: told.station) }
    }

    /// - Parameter patience: How long to wait, in milliseconds.
    package func poll(
        _ request: WebRequest,
        patience: Int64 = WebCourier.patience
    ) async -> Delivery {
        let start = door.nanoseconds()
        let uuid = WebText.uuid(door.random(), door.random())
        let origin = request.headers["origin"]
        var delivery = Delivery(
            answer: WebAnswer(status: 200, headers: WebGateway.common(uuid))
        )
        var isAdmitted = true
        do {
            guard request.method == "GET" else { throw WebCourier.wrongMethod }
            let token = try token(of: request)
            isAdmitted = try await admits(origin, token)
            guard isAdmitted else {
                throw WebError(.accessDenied, "the URL is not for pages of \(origin ?? "")")
            }
            var mayTell = true
            if await next(of: token.stations, for: request) == nil {
                mayTell = try await wait(token.stations, request, patience)
            }
            if mayTell, !Task.isCancelled,
                let (station, notification) = await next(of: token.stations, for: request)
            {
                delivery.told = (station, notification.id)
                delivery.answer.body = Bytes(notification.text.utf8)
            }
        } catch {
            let error = (error as? WebError) ?? WebError(.internalError, "\(error)")
            delivery.answer = error.answer(uuid: uuid)
        }
        if isAdmitted {
            delivery.answer.headers += WebGateway.sharing(with: origin, isPreflight: false)
        }
        let microseconds = (door.nanoseconds() - start) / 1_000
        // A browser that went away is no error of the node.
        let status = Task.isCancelled ? 499 : delivery.answer.status
        gateway.meter.note("courier", status: status, microseconds: microseconds)
        return delivery
    }

    // MARK: Who asks

    private func token(of request: WebRequest) throws(WebError) -> CourierToken {
        guard let text = CourierToken.token(of: request.target),
            let sealed = Base64URL.decode(text.utf8), let content = door.open(sealed),
            let token = try? CourierToken(content: content), token.isGood(now: door.now)
        else { throw WebCourier.expired }
        return token
    }

    private static let expired = WebError(
        .notFound,
        "the URL is not valid, or not any more; ask tokens/create for one"
    )

    private static let wrongMethod = WebError.methodNotAllowed(
        "a URL to poll takes GET only",
        allowed: ["GET"]
    )

    private func admits(_ origin: String?, _ token: CourierToken) async throws(WebError) -> Bool {
        for station in token.stations {
            // A script's access token belongs to no app, and so to no page.
            if station.access.api.isEmpty {
                if origin != nil { return false }
                continue
            }
            guard let app = try await door.app(of: station.access.api) else {
                throw WebCourier.expired
            }
            if let origin, !app.admits(origin: origin) { return false }
        }
        return true
    }

    // MARK: Waiting

    /// The next notification of the stations whose callers are still let in.
    private func next(
        of stations: [CourierToken.Station],
        for request: WebRequest
    ) async -> (station: UInt64, notification: WebNotification)? {
        for station in stations {
            guard let next = board.next(of: station),
                let calls = try? await enter(station, request)
            else { continue }
            calls.close()
            return (station.id, next)
        }
        return nil
    }

    private func enter(
        _ station: CourierToken.Station,
        _ request: WebRequest
    ) async throws(ServiceError) -> any WebCalls {
        var entrance = station.access.entrance(
            address: request.address,
            isSecret: request.isSecret
        )
        entrance.device = station.device
        return try await door.enter(entrance)
    }

    private enum Outcome: Sendable {
        case news
        case timeIsUp
        case replaced
        case failed(ServiceError)
    }

    /// Returns when the board has something, or when the time is up; throws if no feed can be
    /// followed.
    ///
    /// - Returns: False if another poll has begun, which is told what happens.
    private func wait(
        _ stations: [CourierToken.Station],
        _ request: WebRequest,
        _ patience: Int64
    ) async throws(WebError) -> Bool {
        let (number, replaced) = board.begin(stations[0].id)
        defer { board.end(number, stations[0].id) }
        let door = door
        let outcome = await withTaskGroup(of: Outcome.self) { group -> Outcome in
            for station in stations {
                group.addTask {
                    do throws(ServiceError) {
                        try await follow(station, request)
                        return .news
                    } catch {
                        return .failed(error)
                    }
                }
            }
            group.addTask {
                try? await door.sleep(patience)
                return .timeIsUp
            }
            group.addTask {
                for await _ in replaced {}
                return .replaced
            }
            var open = stations.count
            while let outcome = await group.next() {
                // A feed that can't be followed does not silence the others.
                if case .failed = outcome {
                    open -= 1
                    if open > 0 { continue }
                }
                group.cancelAll()
                return outcome
            }
            return .timeIsUp
        }
        switch outcome {
        case .failed(let error): throw WebError(error)
        case .replaced:
            // Two that ask in turn would each end the other's poll without a pause.
            try? await door.sleep(WebCourier.pause)
            return false
        case .news, .timeIsUp: return true
        }
    }

    // MARK: Feeds

    /// Follows a feed until it tells something, which is then on the board.
    private func follow(
        _ station: CourierToken.Station,
        _ request: WebRequest
    ) async throws(ServiceError) {
        let calls = try await enter(station, request)
        defer { calls.close() }
        while try await !takePages(station, calls) {}
    }

    /// Returns false if the feed is to be followed anew, from the last page on.
    private func takePages(
        _ station: CourierToken.Station,
        _ calls: any WebCalls
    ) async throws(ServiceError) -> Bool {
        // A subscription that is newer than the token tells what happened since it was saved.
        let feed = board.feed(of: station)
        let call = FollowFeedRequest(token: feed, isHistory: true)
        let stream = await calls.follow(.feedsFollow, call.encoded())
        defer { stream.cancel() }
        var isBehind = true
        while let message = try await stream.next() {
            let page = try WebNews.page(message)
            // A feed that is up to date would only tell later events.
            if page.reset != nil, !isBehind { return false }
            // Nodes keep the changes of a container from its first subscription on. A browser that
            // has waited since before has missed no kept change.
            if page.reset == .all, feed == station.feed {
                board.take([], [], of: station, now: door.now)
                return false
            }
            var news: [WebNotification] = []
            for notification in page.notifications {
                let container = station.access.scope.container
                news += try await WebNews.told(by: notification, in: container, calls)
            }
            board.take(news, page.token, of: station, now: door.now)
            if !news.isEmpty { return true }
            if page.isCheckpoint { isBehind = false }
        }
        throw ServiceError(.serviceUnavailable, "the feed has ended")
    }
}

extension WebGateway {
    package var courier: WebCourier { WebCourier(self) }
}
