// One caller of web services in one of two worlds, and what it was answered so far.
//
// It asks with an app's API token, as a web client does; `WebHiddenProbes` says what.

import Crypto
import CumulusGateway
import CumulusModel
import CumulusNode
import CumulusTesting

struct WebHiddenCaller {
    struct Answer: Hashable {
        let question: String
        var text: String
        /// Why the worlds may differ here; empty: they may not.
        let known: String
    }

    let who: HiddenScene.Who
    let scene: HiddenScene
    private let user: WebUser
    private var text: WireText
    private(set) var answers: [Answer] = []
    private(set) var asked: Set<WebEndpoint> = []
    /// Endpoints that answered with more than an error.
    private(set) var answered: Set<WebEndpoint> = []

    init(
        _ who: HiddenScene.Who,
        _ scene: HiddenScene,
        _ gateway: WebGateway,
        _ door: NodeDoor,
        in world: HiddenWorlds.World
    ) {
        (self.who, self.scene) = (who, scene)
        let token = scene.tokens[who].map { session in
            WebToken(
                session: Bytes(SHA256.hash(data: Bytes(session.utf8))),
                scope: WebUser.scope,
                api: WebUser.apiDigest,
                made: world.still.now,
                isKept: false
            )
        }
        user = WebUser(gateway: gateway, door: door, token: token.map { gateway.token($0) })
        text = WireText(of: world.server.node)
    }

    /// Asks, and notes the answer.
    ///
    /// - Parameter marker: The member with a token that names the page.
    @discardableResult
    mutating func ask(
        _ endpoint: WebEndpoint,
        _ database: String,
        _ body: String = "{}",
        from marker: String = "",
        mayDiffer known: String = ""
    ) async throws -> JSON {
        asked.insert(endpoint)
        let path = database.isEmpty ? endpoint.rawValue : "\(database)/\(endpoint.rawValue)"
        let method = endpoint.methods.contains("POST") ? "POST" : "GET"
        let whole = marker.isEmpty ? body : "{\(marker), \(body.dropFirst())"
        let content = method == "GET" ? [] : Bytes(whole.utf8)
        // Where answers may have the token of now, it tells nothing either.
        let target = user.target(path) + "&getCurrentSyncToken=true"
        let answer = try await user.send(WebRequest(method, target, body: content))
        if answer.status == 200 { answered.insert(endpoint) }
        let headers = answer.headers.sorted { $0.key < $1.key }.map {
            "\($0.key): \(shown($0.value, $0.key.lowercased()))"
        }
        answers.append(
            Answer(
                question: "\(path) \(body)",
                text: "\(answer.status)\n\(headers.joined(separator: "\n"))\n"
                    + shown(answer.json, "").text,
                known: known
            )
        )
        return answer.json
    }

    // MARK: What may differ

    private mutating func shown(_ json: JSON, _ key: String) -> JSON {
        switch json {
        case .string(let string): .string(shown(string, key))
        case .array(let elements): .array(elements.map { shown($0, key) })
        case .object(let members):
            .object(members.map { JSON.Member($0.key, shown($0.value, $0.key)) })
        case .null, .bool, .integer, .decimal: json
        }
    }

    /// Tokens by their lengths, change tags by their places.
    private mutating func shown(_ string: String, _ key: String) -> String {
        switch key {
        case "recordChangeTag":
            return text.place(of: Bytes(string.utf8), among: "change tag")
        case "syncToken", "metaSyncToken": return shown(part: string)
        case "apnsToken": return Bytes(hex: string).map { text.text($0) } ?? string
        case "uuid", "x-apple-request-uuid": return "an id of \(string.utf8.count) characters"
        case "continuationMarker":
            guard let content = Base64.decode(string), let marker = try? QueryMarker(content) else {
                return string
            }
            return "\(text.text(marker.cursor)), \(marker.keys ?? [])"
        default:
            return string.split(separator: "/", omittingEmptySubsequences: false)
                .map { shown(part: String($0)) }.joined(separator: "/")
        }
    }

    private mutating func shown(part: String) -> String {
        let standard = part.replacing("-", with: "+").replacing("_", with: "/")
        let padding = String(repeating: "=", count: (4 - standard.utf8.count % 4) % 4)
        guard let bytes = Base64.decode(standard + padding), text.isToken(bytes) else {
            return part
        }
        return text.text(bytes)
    }
}
