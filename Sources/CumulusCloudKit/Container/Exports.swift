// An app that imports CloudKit has Foundation and Core Location too.

@_exported public import CumulusFoundation
@_exported public import Foundation

#if !os(Linux)
    #error("CumulusCloudKit is built for Linux; on Apple's systems write `import CloudKit`")
#endif
