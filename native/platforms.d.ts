/** What npm installs the package of a platform on. */
export interface PlatformFacts {
  readonly os: string;
  readonly cpu: string;
  readonly libc?: string;
}
export declare const PLATFORMS: Readonly<Record<string, PlatformFacts>>;
export declare function platformName(of: NodeJS.Process): string;
export declare function addonFile(platform: string): string;
export declare function addonPackage(platform: string): string;
