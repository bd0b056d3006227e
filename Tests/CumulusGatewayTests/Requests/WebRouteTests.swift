// URLs of requests, and the texts in them.

import CumulusGateway
import CumulusModel
import Testing

@Suite struct WebRouteTests {
    private let base = "/database/1/iCloud.org.example.notes/development"

    private func route(_ method: String, _ target: String) throws -> WebRoute {
        try WebRoute(method: method, target: target)
    }

    private func refusal(_ method: String, _ target: String) -> WebError? {
        do {
            _ = try route(method, target)
            return nil
        } catch {
            return error as? WebError
        }
    }

    @Test func everyEndpointHasItsURLs() throws {
        for endpoint in WebEndpoint.allCases {
            for database in DatabaseScope.allCases {
                let target = "\(base)/\(database.name)/\(endpoint.rawValue)?ckAPIToken=x"
                let isTaken = endpoint.databases.isEmpty || endpoint.databases.contains(database)
                guard isTaken else {
                    #expect(refusal(endpoint.methods[0], target)?.status == 400, "\(target)")
                    continue
                }
                for method in endpoint.methods {
                    let route = try route(method, target)
                    #expect(route.endpoint == endpoint)
                    #expect(route.database == database)
                    #expect(route.scope.container == "iCloud.org.example.notes")
                    #expect(route.scope.environment == .development)
                }
            }
        }
    }

    @Test func aQueryTellsClientsApartAndAsksForTokens() throws {
        let target = "\(base)/private/records/query"
        let plain = try route("POST", target)
        #expect(plain.clientID.isEmpty && !plain.wantsSyncToken)
        for (text, wants) in [("true", true), ("True", true), ("false", false), ("", false)] {
            let query = "?getCurrentSyncToken=\(text)&clientId=a%2Db&ckAPIToken=x"
            let asked = try route("POST", target + query)
            #expect(asked.wantsSyncToken == wants, "\(text)")
            #expect(asked.clientID == "a-b")
        }
    }

    @Test func tokensHaveTwoFormsOfURL() throws {
        for service in ["device", "database"] {
            let target = "/\(service)/1/iCloud.a/production/tokens/create"
            let route = try route("POST", target)
            #expect(route.endpoint == .tokensCreate)
            #expect(route.scope.environment == .production)
        }
    }

    @Test func aPrefixIsSkipped() throws {
        let target = "/cumulus\(base)/private/records/query?a=b"
        #expect(try route("POST", target).database == .private)
        #expect(WebRoute.signedPath(target).map(String.init)?.hasPrefix("/database/1/iC") == true)
        #expect(WebRoute.signedPath("/else") == nil)
        let encoded = target.replacing("iCloud.org", with: "iCloud%2Eorg")
        #expect(try route("POST", encoded).scope.container == "iCloud.org.example.notes")
    }

    /// A slash or a question mark never forms one character with the text behind it.
    @Test func pathsAreSearchedByteByByte() throws {
        let accent = "\u{301}"
        #expect(WebText.path(of: "/a/b?\(accent)/c") == "/a/b")
        #expect(WebText.path(of: "/a/b") == "/a/b")
        let target = "/ä\(accent)/device/1/courier/\(accent)abc?/x"
        #expect(CourierToken.token(of: target).map(String.init) == "\(accent)abc")
        #expect(CourierToken.token(of: "/device/1/courier/a/\(accent)b") == nil)
        let path = Substring("/device/1/device/1/x")
        let range = try #require(WebText.range(of: "/device/1/", in: path.dropFirst(1)))
        #expect(path[range.upperBound...] == "x")
        #expect(WebText.range(of: "/device/1/", in: path.dropLast(11)) == nil)
        #expect(WebText.range(of: "/device/1/", in: "") == nil)
        // The part is found, and its name is refused.
        let accented = "/database/1/\(accent)a/development/public/records/query"
        #expect(refusal("POST", accented)?.status == 400)
    }

    @Test func whatIsNotThereIsSaid() {
        #expect(refusal("POST", "\(base)/private/records/what")?.status == 404)
        #expect(refusal("POST", "\(base)/records/query")?.status == 404)
        #expect(
            refusal("POST", "/database/1/iCloud.a/testing/private/records/query")?.status == 404
        )
        #expect(refusal("POST", "/database/2/iCloud.a/production/private/a")?.status == 404)
        let wrong = refusal("GET", "\(base)/private/records/query")
        #expect(wrong?.status == 405)
        #expect(wrong?.headers == ["Allow": "POST"])
        let elsewhere = refusal("POST", "\(base)/private/users/discover")
        #expect(elsewhere?.reason.contains("privatedb") == true)
        #expect(refusal("POST", "\(base)/public/records/changes")?.status == 400)
    }

    /// The rule of the binary protocol.
    @Test(
        arguments: [
            ("", "must not be empty"), ("_a", "underscore"), ("%5Fa", "underscore"),
            ("a%00", "NUL"), ("a%0A", "printable ASCII"), ("%C3%A4", "printable ASCII"),
            ("%FF", "UTF-8"), ("a%2", "UTF-8"), (String(repeating: "a", count: 256), "255"),
        ]
    )
    func aContainerHasAName(_ name: String, _ rule: String) {
        let refused = refusal("POST", "/database/1/\(name)/production/private/records/query")
        #expect(refused?.code == .badRequest && refused?.status == 400)
        #expect(refused?.reason.contains(rule) == true, "\(refused?.reason ?? "")")
    }

    @Test func aContainerMayHaveASlash() throws {
        let found = try route("POST", "/database/1/a%2Fb/production/private/records/query")
        #expect(found.scope.container == "a/b")
    }

    @Test func noTokenIsShown() {
        for path in ["/device/1/courier/", "/database/1/content/", "/a/device/1/courier/"] {
            for end in ["", "/", "/x/y/z"] {
                let refused = refusal("POST", path + "secret" + end)
                #expect(refused?.status == 404)
                #expect(refused?.reason.contains("secret") == false)
            }
        }
    }

    @Test func everyURLThatIsCutOffIsRefused() {
        let target = "\(base)/private/records/query"
        for length in 0..<target.count {
            #expect(refusal("POST", String(target.prefix(length)))?.status == 404)
        }
    }

    @Test func textsAreDecodedOnceTwiceOrNotAtAll() {
        #expect(WebText.percentDecoded("a%2Bb%2f%3D") == "a+b/=")
        #expect(WebText.percentDecoded("a%2") == nil)
        #expect(WebText.percentDecoded("%GG") == nil)
        #expect(WebText.percentDecoded("%C3%A4") == "ä")
        #expect(WebText.percentDecoded("%C3") == nil)
        for form in ["a+b/c=", "a%2Bb%2Fc%3D", "a%252Bb%252Fc%253D", "a b/c="] {
            #expect(WebText.readings(of: form).contains("a+b/c="), "\(form)")
        }
        #expect(WebText.query(of: "/a?x=1&y=a%3D=&x=2&z") == ["x": "1", "y": "a%3D=", "z": ""])
        #expect(WebText.query(of: "/a") == [:])
        #expect(WebText.query(of: "/a?") == [:])
        #expect(WebText.query(of: "/a?&&=b&c==&d=?") == ["": "b", "c": "=", "d": "?"])
        #expect(WebText.uuid(0x0123_4567_89AB_CDEF, 0) == "01234567-89AB-4DEF-8000-000000000000")
        #expect(WebText.uuid(.max, .max) == "FFFFFFFF-FFFF-4FFF-BFFF-FFFFFFFFFFFF")
    }
}
