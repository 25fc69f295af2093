import { readFile } from 'node:fs/promises';
import path from 'node:path';
import * as z from 'zod';

/** One resource of a synthesized template, its intrinsics not yet resolved. */
export interface Resource {
  readonly stackName: string;
  readonly logicalId: string;
  readonly type: string;
  readonly properties: Readonly<Record<string, unknown>>;
  /** `aws:cdk:path`, or the logical id where a template has none. */
  readonly constructPath: string;
}

export interface StackOutput {
  readonly value: unknown;
  readonly exportName: unknown;
}

export interface Stack {
  readonly name: string;
  readonly region: string;
  readonly resources: ReadonlyMap<string, Resource>;
  readonly outputs: ReadonlyMap<string, StackOutput>;
  readonly parameterDefaults: ReadonlyMap<string, unknown>;
  /** Folder of each zipped file asset, by the asset's hash. */
  readonly assetFolders: ReadonlyMap<string, string>;
}

export interface CloudAssembly {
  readonly stacks: readonly Stack[];
}

const manifestSchema = z.object({
  artifacts: z.record(
    z.string(),
    z.object({
      type: z.string(),
      environment: z.string().optional(),
      displayName: z.string().optional(),
      properties: z
        .object({ templateFile: z.string().optional(), file: z.string().optional(), stackName: z.string().optional() })
        .optional(),
      dependencies: z.array(z.string()).optional(),
    }),
  ),
});

const templateSchema = z.object({
  Resources: z.record(
    z.string(),
    z.object({
      Type: z.string(),
      Properties: z.record(z.string(), z.unknown()).optional(),
      Metadata: z.record(z.string(), z.unknown()).optional(),
    }),
  ),
  Outputs: z
    .record(z.string(), z.object({ Value: z.unknown(), Export: z.object({ Name: z.unknown() }).optional() }))
    .optional(),
  Parameters: z.record(z.string(), z.object({ Default: z.unknown() })).optional(),
});

const assetManifestSchema = z.object({
  files: z.record(z.string(), z.object({ source: z.object({ path: z.string().optional(), packaging: z.string() }) })),
});

const defaultRegion = 'us-east-1';

/** Reads every stack of a cloud assembly folder (`cdk.out`). */
export async function readCloudAssembly(folder: string): Promise<CloudAssembly> {
  const manifest = manifestSchema.parse(await readJson(path.join(folder, 'manifest.json')));
  const stacks: Stack[] = [];
  for (const [artifactId, artifact] of Object.entries(manifest.artifacts)) {
    const templateFile = artifact.properties?.templateFile;
    if (artifact.type !== 'aws:cloudformation:stack' || templateFile === undefined) continue;
    stacks.push(
      await readStack(folder, {
        name: artifact.properties?.stackName ?? artifactId,
        templateFile,
        region: regionOf(artifact.environment),
        assetManifests: (artifact.dependencies ?? []).flatMap(
          (dependency) => manifest.artifacts[dependency]?.properties?.file ?? [],
        ),
      }),
    );
  }
  return { stacks };
}

interface StackArtifact {
  name: string;
  templateFile: string;
  region: string;
  assetManifests: string[];
}

async function readStack(folder: string, artifact: StackArtifact): Promise<Stack> {
  const template = templateSchema.parse(await readJson(path.join(folder, artifact.templateFile)));
  const assetFolders = new Map<string, string>();
  for (const manifestFile of artifact.assetManifests) {
    const { files } = assetManifestSchema.parse(await readJson(path.join(folder, manifestFile)));
    for (const [hash, { source }] of Object.entries(files)) {
      if (source.packaging === 'zip' && source.path !== undefined)
        assetFolders.set(hash, path.resolve(folder, source.path));
    }
  }
  const resources = Object.entries(template.Resources).map(([logicalId, resource]): [string, Resource] => {
    const constructPath = resource.Metadata?.['aws:cdk:path'];
    return [
      logicalId,
      {
        stackName: artifact.name,
        logicalId,
        type: resource.Type,
        properties: resource.Properties ?? {},
        constructPath: typeof constructPath === 'string' ? constructPath : logicalId,
      },
    ];
  });
  return {
    name: artifact.name,
    region: artifact.region,
    resources: new Map(resources),
    outputs: new Map(
      Object.entries(template.Outputs ?? {}).map(([name, output]) => [
        name,
        { value: output.Value, exportName: output.Export?.Name },
      ]),
    ),
    parameterDefaults: new Map(
      Object.entries(template.Parameters ?? {}).map(([name, parameter]) => [name, parameter.Default]),
    ),
    assetFolders,
  };
}

/** `aws://<account>/<region>`, where an environment-agnostic stack says `unknown-region`. */
function regionOf(environment: string | undefined): string {
  const region = environment?.split('/').at(-1);
  return region === undefined || region === 'unknown-region' ? defaultRegion : region;
}

async function readJson(file: string): Promise<unknown> {
  return JSON.parse(await readFile(file, 'utf8'));
}
