/// The version that all programs of this package print.
package enum ProductVersion {
    package static let current = "0.1.0"
}
